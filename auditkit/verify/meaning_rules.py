"""Scored paraphrase candidates -> verdict and rule."""

from __future__ import annotations

from typing import Any

import polars as pl

from auditkit.verify.meaning import given
from auditkit.verify.rules import Paraphrase
from auditkit.verify.translations import NEIGHBOUR, TRANSLATION

#: Rule of a paraphrase whose labels oppose: a twin, not a copy.
TWIN = "paraphrase.twin"
#: How much a rule says of a pair; of two encoders the stronger stands.
_STRENGTH = {"contaminated": 3, "review": 2, TRANSLATION: 1, NEIGHBOUR: 0}


def rule_paraphrases(scored: pl.DataFrame, rule: Paraphrase) -> pl.DataFrame:
    """Return the candidates that some rule reports or may yet report, with verdict, rule, threshold and strength.

    A pair with a score is decided by it. Without one, by its cosine; or it may be a translation, which the whole pool
    decides: these keep their row_mean, all others lose it.

    Args:
        scored: frame of tables.CLOSE with the columns of meaning_pairs.MEANING.
        rule: the rules in force.
    """
    encoder, meaning = pl.col("detector"), pl.col("meaning")
    named = pl.when(encoder.is_in(["minilm", "multilingual"])).then(encoder).otherwise(pl.lit("other"))
    least = named.replace_strict({name: rule.threshold(name) for name in ("minilm", "multilingual", "other")})
    is_scored, is_close = meaning.is_not_null(), pl.col("cosine") >= least
    condemns = is_scored & pl.lit(rule.condemns) & (meaning >= rule.condemns_meaning)
    condemns = condemns & (pl.col("n_facts") >= rule.condemns_facts) & ~pl.col("opposes")
    is_open = ~is_scored & ~is_close & (encoder == "multilingual")
    may_be = is_open & ~pl.col("is_neighbour") & (pl.col("lead") >= 0)
    rules = (
        pl.when(condemns).then(pl.lit("paraphrase.condemns_meaning"))
        .when(is_scored).then(pl.lit("paraphrase.meaning"))
        .when(is_close).then(pl.format("paraphrase.{}", named))
        .when(may_be).then(pl.lit(TRANSLATION))
        .otherwise(pl.lit(NEIGHBOUR))
    )  # fmt: skip
    thresholds = (
        pl.when(condemns).then(pl.lit(rule.condemns_meaning))
        .when(is_scored).then(pl.lit(rule.meaning))
        .when(is_close).then(least)
        .otherwise(pl.lit(1 + rule.margin))
    )  # fmt: skip
    verdict = pl.when(condemns).then(pl.lit("contaminated")).otherwise(pl.lit("review"))
    kept = scored.filter((is_scored & (meaning >= rule.meaning)) | (~is_scored & is_close) | is_open)
    return kept.with_columns(
        verdict.alias("verdict"),
        rules.alias("rule"),
        thresholds.cast(pl.Float64).alias("threshold"),
        pl.when(is_open).then("row_mean").alias("row_mean"),
    ).with_columns(
        pl.when(pl.col("rule").is_in([TRANSLATION, NEIGHBOUR])).then("rule").otherwise("verdict")
        .replace_strict(_STRENGTH, return_dtype=pl.Int64).alias("strength")
    )  # fmt: skip


def describe_verifier(rule: Paraphrase, matches: pl.DataFrame) -> dict[str, Any]:
    """Return what the verifier raised in an audit, and how often it was wrong where that was measured.

    Args:
        rule: the rules in force.
        matches: frame tables.MATCHES.
    """
    close = matches.filter(pl.col("tier") == "paraphrase")
    right, wrong = given()["measured"]["right"], given()["measured"]["wrong"]
    return {
        "condemns": rule.condemns,
        "n_raised": int((close["verdict"] == "contaminated").sum()),
        "n_twins_by_label": int((close["rule"] == TWIN).sum()),
        "expected_error": f"{wrong} of {right + wrong} raised pairs were wrong where it was measured, twins apart",
    }
