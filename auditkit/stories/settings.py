"""What an audit is asked to do, as a record and as the plain values that a report carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from auditkit.errors import UsageError, nearest
from auditkit.records import LEXICAL_TIERS, TIERS, LabelRule, ReadSettings
from auditkit.stories import upstream as upstream_pools
from auditkit.stories.upstream import Upstream
from auditkit.text.views.catalogue import NAMES
from auditkit.verify.rules import Rules, default_rules, load_rules, rules_of

ENGINES = ("local", "ray")

#: In the place of an input that has no name.
MEMORY = "memory"

#: Where the data comes from, what its labels are called, and how it is cut up are no change of the defaults.
_NO_CHANGE = ("pool", "benchmarks", "labels", "shard_bytes", "id_column", "upstream", "public")


@dataclass(frozen=True)
class AuditSettings:
    """What an audit does.

    Attributes:
        tiers: tiers that run. "all" is every tier; `paraphrase` then is left out, and said so, where the extra
            `embed` is not installed. A tier named by itself is an error there.
        encoders: encoders of the paraphrase tier: "minilm", "multilingual", a Hub name, or a folder.
        rules: a rules file, Rules, or None for the defaults.
        read: what of the pool is read.
        cross_encoder: a Hub name or a folder: scores what the paraphrase tier reports (docs/paraphrase.md); "": none.
        exhaustive: paraphrase embeds every row; else rows that a sieve says are close to no item are left out.
        views: disguises that are undone (docs/views.md): "default" for all of them, "none", or names.
        decoys: how many decoys measure the error rates (docs/error-rates.md); None: one an item, at most 1,000.
        fdr: contaminated matches whose q-value is above it become `review`; None changes no verdict.
        upstream: pools that came before (docs/provenance.md): each is audited alike, and the report says through which
            of them an item leaked.
        public: benchmarks, or "benchmark:slice", whose items are public text (docs/public-text.md).
    """

    tiers: tuple[str, ...] = LEXICAL_TIERS
    encoders: tuple[str, ...] = ("minilm",)
    rules: Rules | str | Path | None = None
    read: ReadSettings = field(default_factory=ReadSettings)
    exhaustive: bool = False
    views: tuple[str, ...] = ("default",)
    decoys: int | None = None
    fdr: float | None = None
    upstream: tuple[Upstream, ...] = ()
    public: tuple[str, ...] = ()
    cross_encoder: str = ""

    def __post_init__(self) -> None:
        for tier in self.tiers:
            if tier not in (*TIERS, "all"):
                raise UsageError(f"unknown tier '{tier}'{nearest(tier, TIERS)}; tiers are {', '.join(TIERS)}, or all")
        if not self.tiers:
            raise UsageError(f"no tier given; tiers are {', '.join(TIERS)}, or all")
        self.wanted_views()
        if not self.encoders:
            raise UsageError("no encoder given; name minilm, multilingual, a Hub name or a folder")
        if self.cross_encoder and "paraphrase" not in self.wanted():
            raise UsageError(
                f"cross-encoder '{self.cross_encoder}' scores paraphrases, and that tier does not run; give tiers all"
            )
        if self.decoys is not None and self.decoys < 0:
            raise UsageError(f"decoys is {self.decoys}, expected a whole number from 0")
        if self.fdr is not None and not 0 < self.fdr < 1:  # NaN fails too
            raise UsageError(f"fdr is {self.fdr}, expected a share between 0 and 1, for example 0.01")
        if self.fdr is not None and self.decoys == 0:
            raise UsageError("fdr asks for decoys, and decoys is 0; leave one of them out")
        folded = [one.name.casefold() for one in self.upstream]
        if len(set(folded)) < len(folded):
            raise UsageError("two upstream pools have one name; give both inputs to one of them")

    def all_rules(self) -> Rules:
        """Return the rules in force. Without rules of the user's, `fdr` raises paraphrases as well, and holds them."""
        if self.rules is None:
            known = default_rules()
            return known if self.fdr is None else replace(known, paraphrase=replace(known.paraphrase, condemns=True))
        return self.rules if isinstance(self.rules, Rules) else load_rules(self.rules)

    def wanted_views(self) -> tuple[str, ...]:
        """Return the names of the views asked for, in their order."""
        if self.views in (("default",), ("none",)):
            return NAMES if self.views == ("default",) else ()
        known = f"views are {', '.join(NAMES)}, or default or none alone"
        for view in self.views:
            if view not in NAMES:
                raise UsageError(f"unknown view '{view}'{nearest(view, NAMES)}; {known}")
        if not self.views:
            raise UsageError(f"no view given; {known}")
        return tuple(view for view in NAMES if view in self.views)

    def wanted(self) -> tuple[str, ...]:
        """Return the tiers asked for, strongest first."""
        return tuple(tier for tier in TIERS if tier in self.tiers or "all" in self.tiers)


@dataclass(frozen=True)
class RunSettings:
    """How an audit is run. Nothing of it changes a byte of the result.

    Attributes:
        workers: shards scanned at a time, each with about 100 MB of memory; 0 takes one a core. With Ray: tasks at a
            time; 0 takes two for each CPU that the cluster has.
        engine: "local", or "ray" (extra `ray`).
        address: of a Ray cluster; "" starts Ray on this machine, or takes the one that RAY_ADDRESS names.
        reuse: output folders of earlier audits; shards that stand in them are not scanned again.
    """

    workers: int = 0
    engine: str = "local"
    address: str = ""
    reuse: tuple[str | Path, ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UsageError(
                f"unknown engine '{self.engine}'{nearest(self.engine, ENGINES)}; engines are local and ray"
            )
        if self.workers < 0:
            raise UsageError(f"workers is {self.workers}, expected a whole number from 1, or 0 for one a core")
        if self.address and self.engine != "ray":
            raise UsageError(f"address {self.address} is that of a Ray cluster; give engine ray with it")


def as_plain(settings: AuditSettings, pool: Any, benchmarks: Any) -> dict[str, Any]:
    """Return the settings as plain values, with the inputs as they were named ("memory" for what was not a name)."""
    plain = asdict(settings.read)
    plain["labels"] = [asdict(rule) for rule in settings.read.labels]
    return {
        "pool": named_inputs(pool),
        "benchmarks": named_inputs(benchmarks),
        "tiers": list(settings.tiers),
        "encoders": list(settings.encoders),
        "cross_encoder": settings.cross_encoder,
        "exhaustive": settings.exhaustive,
        "views": list(settings.views),
        "decoys": settings.decoys,
        "fdr": settings.fdr,
        "upstream": upstream_pools.as_plain(settings.upstream),
        "public": list(settings.public),
        **{name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()},
    }


def from_plain(plain: Mapping[str, Any], rules: Mapping[str, Any]) -> AuditSettings:
    """Return the settings that a report or a plan carries."""
    labels = tuple(LabelRule(rule["policy"], rule["column"], rule["values"]) for rule in plain["labels"])
    read = ReadSettings(
        tuple(plain["fields"]),
        tuple(plain["roles"]),
        labels,
        plain["id_column"],
        plain["bad_rows"],
        plain["shard_bytes"],
    )
    known = rules_of(rules, "the report's rules")
    return AuditSettings(
        tuple(plain["tiers"]), tuple(plain["encoders"]), known, read, plain.get("exhaustive", False),
        views=tuple(plain.get("views", ("none",))), decoys=plain.get("decoys"), fdr=plain.get("fdr"),
        upstream=upstream_pools.from_plain(plain.get("upstream", ())), public=tuple(plain.get("public", ())),
        cross_encoder=plain.get("cross_encoder", ""),
    )  # fmt: skip


def lexical_only(settings: AuditSettings) -> AuditSettings:
    """Return the settings without paraphrase and decoys: what `decontaminate` needs to look again."""
    tiers = tuple(t for t in settings.wanted() if t != "paraphrase") or LEXICAL_TIERS
    return replace(settings, tiers=tiers, decoys=0, fdr=None, cross_encoder="")


def changed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return name -> value of the settings that differ from the defaults."""
    defaults = as_plain(AuditSettings(), "", "")
    return {name: value for name, value in plain.items() if name not in _NO_CHANGE and value != defaults[name]}


def named_inputs(inputs: Any) -> list[str]:
    """Return the inputs as they were named; MEMORY alone where one of them has no name."""
    several = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if any(not isinstance(one, (str, Path)) for one in several):
        return [MEMORY]
    return [str(one) for one in several]


def named_folders(inputs: Any) -> list[Path]:
    """Return the folders among the inputs as they were named: nothing may be written into them."""
    several = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return [Path(one) for one in several if isinstance(one, (str, Path)) and Path(one).is_dir()]
