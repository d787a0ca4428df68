"""The benchmarks auditkit knows by name: registry.toml, parsed once, and looked up with spelling and case forgiven."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from auditkit.errors import BenchmarkError, nearest

Kind = Literal["question", "answer", "context"]

KINDS: tuple[str, ...] = ("question", "answer", "context")
CLASSES: tuple[str, ...] = ("harmful", "benign", "mixed")
#: What can be checked about a benchmark. A fact in neither `verified` nor `reported` is unverified.
FACTS: tuple[str, ...] = ("source", "revision", "licence", "gated", "columns", "items", "labels", "policy")


@dataclass(frozen=True)
class TextColumn:
    """One text column of a benchmark's items.

    Attributes:
        names: the upstream name first, then names used in copies.
        kind: question, answer or context.
        is_optional: whether a copy may lack it.
        blank: values that stand for "no text".
    """

    names: tuple[str, ...]
    kind: Kind
    is_optional: bool = False
    blank: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LabelSource:
    """Where items' labels come from: a constant, one column with a value map, or several flags. Empty: unknown.

    Attributes:
        constant: label of every item.
        columns: one column, or the flags: any 1 is 1, all 0 is 0, else unknown.
        values: value as text, casefolded -> 0 or 1, for one column. Empty: the default map.
    """

    constant: int | None = None
    columns: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SliceColumn:
    """A column whose value (mapped, where `values` names it) is part of the slice's name."""

    column: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Registered:
    """One registered benchmark. What its fields mean in the file stands at the top of registry.toml.

    Attributes:
        source: "hub" (`repo`, `config`, `split`) or "url" (one file; `url` holds the revision already).
        revision: commit that is read, "" where none is known.
        sha256: of the file behind `url`, "" where it is not known.
        n_items: number of items, None where it is not known.
        where: column -> values, casefolded, that make a record an item.
        klass: harmful, benign or mixed.
        public: why its items are public text, found in any pool of the web; "" where they are not.
        verified: fact -> how it was checked. `reported`: fact -> which third party says so.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    source: Literal["hub", "url"]
    repo: str
    config: str
    split: str
    url: str
    revision: str
    sha256: str
    licence: str
    is_gated: bool
    n_items: int | None
    klass: str
    unit: str
    policy: str
    policy_source: str
    columns: tuple[TextColumn, ...]
    id_columns: tuple[str, ...]
    label: LabelSource
    slices: tuple[SliceColumn, ...]
    where: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    public: str
    verified: Mapping[str, str]
    reported: Mapping[str, str]

    @property
    def location(self) -> str:
        """Where it is read from: "hf:org/name:config:split@revision", or an address."""
        if self.source == "url":
            return self.url
        parts = ":".join((self.repo, self.config, self.split)) if self.config or self.split else self.repo
        return f"hf:{parts}" + (f"@{self.revision}" if self.revision else "")

    @property
    def page(self) -> str:
        """The page a person opens in a browser, where a gated set asks for its terms to be accepted."""
        if self.source == "hub":
            return f"https://huggingface.co/datasets/{self.repo}"
        owner_repo = re.match(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/", self.url)
        return f"https://github.com/{owner_repo[1]}" if owner_repo else self.url

    @property
    def unverified(self) -> tuple[str, ...]:
        """The facts that nobody checked here and no third party was found to state.

        A public file is not gated, and a label that no column holds follows from the class: nothing to check there.
        """
        known = {*self.verified, *self.reported, *(() if self.label.columns else ("labels",))}
        known |= {"gated"} if self.source == "url" else set()
        return tuple(fact for fact in FACTS if fact not in known)

    @property
    def is_count_verified(self) -> bool:
        """Whether `n_items` was checked, so that another count is an error."""
        return self.n_items is not None and "items" in self.verified


@cache
def registered() -> dict[str, Registered]:
    """Return the registered benchmarks by name, in the order of the file."""
    text = files("auditkit.read").joinpath("registry.toml").read_text("utf-8")
    entries = {name: _entry(name, table) for name, table in tomllib.loads(text).items()}
    _spellings(entries)
    return entries


def find(name: str) -> Registered:
    """Return the benchmark of this name or alias; case does not matter, nor do "_", "-", "." and spaces.

    Raises:
        BenchmarkError: no benchmark is registered under it.
    """
    found = lookup(name)
    if found is None:
        raise BenchmarkError(
            f"benchmark {name!r} is not registered{nearest(_fold(name), known_names())}; "
            "`auditkit benchmarks` lists the registered ones; a path to a file works too"
        )
    return found


def lookup(name: str) -> Registered | None:
    """Return the benchmark of this name or alias, or None."""
    return _spellings(registered()).get(_fold(name))


def known_names() -> list[str]:
    """Return every registered name and alias."""
    return [spelling for entry in registered().values() for spelling in (entry.name, *entry.aliases)]


def _fold(name: str) -> str:
    return re.sub(r"[\s_.-]+", "-", name.strip().casefold())


def _spellings(entries: Mapping[str, Registered]) -> dict[str, Registered]:
    """Return every spelling -> its benchmark.

    Raises:
        ValueError: two benchmarks share a spelling; a defect of the registry.
    """
    found: dict[str, Registered] = {}
    for entry in entries.values():
        for spelling in {_fold(text) for text in (entry.name, *entry.aliases)}:
            if spelling in found:
                raise ValueError(f"registry.toml: {spelling} is both {found[spelling].name} and {entry.name}")
            found[spelling] = entry
    return found


# ---------------------------------------------------------------- parsing


def _entry(name: str, table: dict[str, Any]) -> Registered:
    """Return one parsed table.

    Raises:
        ValueError, KeyError: the table is wrong; a defect of the registry, shown by its tests.
    """
    unknown = set(table) - _KEYS
    facts = {*table.get("verified", {}), *table.get("reported", {})}
    if unknown or facts - set(FACTS) or table["class"] not in CLASSES or table["source"] not in ("hub", "url"):
        raise ValueError(f"registry.toml: {name}: wrong keys, facts, class or source ({sorted(unknown)})")
    revision = table["revision"]
    return Registered(
        name=name, title=table["title"], aliases=tuple(table.get("aliases", ())), source=table["source"],
        repo=table.get("repo", ""), config=table.get("config", ""), split=table.get("split", ""),
        url=table.get("url", "").replace("{revision}", revision), revision=revision, sha256=table.get("sha256", ""),
        licence=table["licence"], is_gated=table["gated"], n_items=table.get("items"), klass=table["class"],
        unit=table["unit"], policy=table["policy"], policy_source=table["policy_source"],
        columns=tuple(_column(column) for column in table["columns"]),
        id_columns=tuple(table.get("id_columns", ())), label=_label(table.get("label", {})),
        slices=tuple(SliceColumn(part["column"], part.get("values", {})) for part in table.get("slices", ())),
        where={column: tuple(values) for column, values in table.get("where", {}).items()},
        notes=tuple(table.get("notes", ())), public=table.get("public", ""), verified=table.get("verified", {}),
        reported=table.get("reported", {}),
    )  # fmt: skip


_KEYS = {
    "title", "aliases", "source", "repo", "config", "split", "url", "revision", "sha256", "licence", "gated", "items",
    "class", "unit", "policy", "policy_source", "columns", "id_columns", "label", "slices", "where", "notes",
    "public", "verified", "reported",
}  # fmt: skip


def _column(table: dict[str, Any]) -> TextColumn:
    if table["kind"] not in KINDS:
        raise ValueError(f"registry.toml: kind {table['kind']}")
    return TextColumn(
        tuple(table["names"]), table["kind"], table.get("optional", False), frozenset(table.get("blank", ()))
    )


def _label(table: dict[str, Any]) -> LabelSource:
    columns = table.get("columns", [table["column"]] if "column" in table else [])
    return LabelSource(table.get("constant"), tuple(columns), table.get("values", {}))
