"""One shard through all detectors and their verification: the step that every engine runs on every shard."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from auditkit import tables
from auditkit.context.sample import n_halvings, observe
from auditkit.detect.exact import ExactDetector
from auditkit.detect.minhash import MinHashDetector
from auditkit.detect.paraphrase import ParaphraseDetector, ParaphraseIndex
from auditkit.detect.proposals import Proposals
from auditkit.detect.protocol import Index, Rows
from auditkit.detect.seeds import SeedDetector
from auditkit.errors import MissingExtraError
from auditkit.plant.decoys import NO_DECOYS, Decoys, make_decoys
from auditkit.records import BadRow, Benchmark, TextBatch
from auditkit.run.digests import code_digest, frame_digest
from auditkit.run.versions import versions
from auditkit.stories.payloads import Payloads
from auditkit.stories.settings import AuditSettings
from auditkit.stories.views import Viewer
from auditkit.text.cross_encode import CrossEncoder, load_cross_encoder
from auditkit.text.encode import load_encoder
from auditkit.text.items import ItemTexts, distinct_texts
from auditkit.text.normalise import describe, tokenise
from auditkit.verify.items import PreparedItems, prepare, template_tokens
from auditkit.verify.matches import Verified, verify
from auditkit.verify.paraphrases import BEYOND, Paraphrases, verify_paraphrases
from auditkit.verify.rules import Rules

#: Smaller pools are embedded whole: a sieve would save less than it takes to make one.
SIEVE_BYTES = 1 << 20
#: Cosine from which the sieve is to keep pairs. Below the threshold, since the verifier finds rewordings there.
SIEVED = 0.70
#: Where a text stands in its source.
ADDRESS = ["row", "row_id", "field", "turn"]


@dataclass(frozen=True)
class Shard:
    """What one shard of the pool gave.

    Attributes:
        n_rows, n_texts: what it held.
        pairs: frame VERIFIED with the columns of ADDRESS in place of `unit`.
        labels: row and one Int8 column per policy, of the rows that matched.
        label_counts: policy -> label as text ("1", "0", "null") -> rows.
        id_hashes: of its row ids (see TextBatch).
        bad_rows: records set aside.
        not_examined: reason -> count.
        n_template_only: pairs that shared a template only.
        paraphrase_counts: encoder -> what it counted -> number.
        view_counts: "readings" and "left_out" (see stories/views.py) -> what -> number.
        beyond: frame BEYOND: paraphrases that are not among the best of their item text.
        sampled: frame SAMPLED: what templates of the pool are looked for in.
    """

    n_rows: int
    n_texts: int
    pairs: pl.DataFrame
    labels: pl.DataFrame
    label_counts: Mapping[str, Counter[str]]
    id_hashes: pl.Series
    bad_rows: tuple[BadRow, ...]
    not_examined: Mapping[str, int]
    n_template_only: int
    paraphrase_counts: Mapping[str, Mapping[str, int]]
    view_counts: Mapping[str, Mapping[str, int]]
    beyond: pl.DataFrame
    sampled: pl.DataFrame


@dataclass(frozen=True)
class Scanner:
    """Indexes of the benchmarks and of their decoys, and how a shard goes through them.

    Of the pool's texts one in 2 ** `halvings` is sampled.
    """

    items: pl.DataFrame
    decoys: Decoys
    texts: ItemTexts
    prepared: PreparedItems
    tiers: tuple[str, ...]
    not_run: Mapping[str, str]
    lexical: Mapping[str, Index]
    paraphrase: Mapping[str, ParaphraseIndex]
    cross_encoder: CrossEncoder | None
    viewer: Viewer
    payloads: Payloads | None
    halvings: int

    @staticmethod
    def make(benchmarks: Sequence[Benchmark], settings: AuditSettings, rules: Rules, n_pool_bytes: int) -> Scanner:
        """Return a scanner for these benchmarks, and for a pool of about that size."""
        items = pl.concat([benchmark.items for benchmark in benchmarks])
        cross_encoder = load_cross_encoder(settings.cross_encoder) if settings.cross_encoder else None
        texts, decoys = _with_decoys(items, settings, rules)
        tiers, paraphrase, not_run = settings.wanted(), dict[str, ParaphraseIndex](), dict[str, str]()
        if "paraphrase" in tiers:
            try:
                paraphrase = _paraphrase(texts, settings, rules, n_pool_bytes)
            except MissingExtraError as error:
                if "all" not in settings.tiers:
                    raise
                not_run["paraphrase"], tiers = str(error), tuple(tier for tier in tiers if tier != "paraphrase")
        else:
            not_run["paraphrase"] = "not asked for (--tiers all)"
        viewer = Viewer.make(settings.wanted_views(), texts)
        prepared = prepare(texts, rules)

        def index(distinct: ItemTexts) -> dict[str, Index]:
            return _lexical(distinct, rules, tiers)

        return Scanner(
            items, decoys, texts, prepared, tiers, not_run, index(texts), paraphrase, cross_encoder, viewer,
            Payloads.make(prepared, index), n_halvings(n_pool_bytes),
        )  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """The digest of all that a shard's result depends on beside the shard: items, rules, tiers, encoders, code."""
        encoders = {name: index.describe() for name, index in self.paraphrase.items()}
        packages = {name: version for name, version in versions(has_encoder=bool(encoders)).items() if name != "python"}
        body = [
            code_digest(), describe(), packages, self.prepared.rules.as_dict(), self.tiers, encoders,
            self.viewer.names, self.halvings, self.cross_encoder and self.cross_encoder.fingerprint,
            frame_digest(self.items), frame_digest(self.decoys.parts),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()

    def scan(self, batch: TextBatch) -> Shard:
        """Return the verified pairs of a shard, and its counts."""
        texts = batch.texts["text"]
        rows = Rows(texts, tokenise(texts))
        found = self._lexical_pairs(rows)
        pairs, view_counts = self.viewer.add(
            rows,
            found.pairs,
            lambda readings: self._lexical_pairs(readings).pairs,
            self.prepared,
            frozenset(self.tiers),
        )
        close, counts = self._close(rows, pairs)
        addressed = _with_addresses(pl.concat([pairs, close.pairs]), batch.texts)
        return Shard(
            n_rows=batch.n_rows,
            n_texts=len(texts),
            pairs=addressed,
            labels=batch.labels.filter(pl.col("row").is_in(addressed["row"].unique().implode())),
            label_counts=_label_counts(batch.labels),
            id_hashes=batch.id_hashes,
            bad_rows=batch.bad_rows,
            not_examined=batch.not_examined,
            n_template_only=found.n_template_only,
            paraphrase_counts=counts,
            view_counts=view_counts,
            beyond=close.beyond,
            sampled=observe(batch.texts, rows.tokens, self.halvings),
        )

    def _lexical_pairs(self, rows: Rows) -> Verified:
        """Return the verified pairs of the lexical tiers."""
        proposed = pl.concat([tables.empty(tables.CANDIDATES), *(index.scan(rows) for index in self.lexical.values())])
        tiers = frozenset(self.tiers)
        found = verify(proposed, rows.texts, rows.tokens, self.prepared, tiers)
        if self.payloads is None:
            return found
        return replace(found, pairs=self.payloads.add(rows, found.pairs, self.prepared, tiers))

    def _close(self, rows: Rows, pairs: pl.DataFrame) -> tuple[Paraphrases, dict[str, dict[str, int]]]:
        """Return the verified paraphrases of a shard that has these lexical pairs, and what each encoder counted."""
        if not self.paraphrase:
            return Paraphrases(pairs.clear(), tables.empty(BEYOND)), {}
        known = pairs.select("unit", "text")
        each = {name: index.search(rows, known) for name, index in self.paraphrase.items()}
        close = pl.concat([one.candidates for one in each.values()])
        verified = verify_paraphrases(close, pairs, rows.texts, rows.tokens, self.prepared, self.cross_encoder)
        return verified, {name: one.counts for name, one in each.items()}

    def describe(self, n_template_only: int, paraphrase_counts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        """Return what the detectors' settings mean, for the report."""
        lexical = {name: index.describe() for name, index in self.lexical.items()}
        close = {name: index.describe(paraphrase_counts.get(name)) for name, index in self.paraphrase.items()}
        return {**lexical, **close, "templates": {"n_pairs_that_share_a_template_only": n_template_only}}


def _with_decoys(items: pl.DataFrame, settings: AuditSettings, rules: Rules) -> tuple[ItemTexts, Decoys]:
    """Return the distinct texts of the items and, behind them, of their decoys."""
    texts = distinct_texts(items, min_answer_tokens=rules.answers.min_tokens)
    if settings.decoys == 0:
        return texts, NO_DECOYS
    decoys = make_decoys(texts, template_tokens(texts, rules), settings.decoys)
    return distinct_texts(items, min_answer_tokens=rules.answers.min_tokens, decoys=decoys.parts), decoys


def _paraphrase(
    texts: ItemTexts, settings: AuditSettings, rules: Rules, n_pool_bytes: int
) -> dict[str, ParaphraseIndex]:
    is_exhaustive, rule = settings.exhaustive or n_pool_bytes < SIEVE_BYTES, rules.paraphrase
    proposals = {
        "minilm": Proposals(rule.floor, SIEVED),
        "multilingual": Proposals(rule.translated, rule.multilingual, is_for_translations=True),
    }
    return {
        name: ParaphraseDetector(
            load_encoder(name), rule.threshold(name), is_exhaustive, proposals=proposals.get(name)
        ).index(texts)
        for name in settings.encoders
    }


def _lexical(texts: ItemTexts, rules: Rules, tiers: Sequence[str]) -> dict[str, Index]:
    indexes: dict[str, Index] = {}
    if "exact" in tiers:
        indexes["exact"] = ExactDetector().index(texts)
    if "contained" in tiers or "near" in tiers:
        indexes["seeds"] = SeedDetector().index(texts)
    if "near" in tiers:
        r = rules.minhash
        detector = MinHashDetector("minhash", r.jaccard, r.recall, r.permutations, r.bands, r.rows, r.seed)
        indexes["minhash"] = detector.index(texts)
    return indexes


def _with_addresses(pairs: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the address of each row text in place of its number in the shard."""
    address = texts.select(ADDRESS)[pairs["unit"]] if len(pairs) else texts.select(ADDRESS).clear()
    return address.hstack(pairs.drop("unit"))


def _label_counts(labels: pl.DataFrame) -> dict[str, Counter[str]]:
    """Return policy -> label as text ("1", "0", "null") -> rows."""
    return {
        name: Counter(labels[name].cast(pl.String).fill_null("null").to_list())
        for name in labels.columns
        if name != "row"
    }
