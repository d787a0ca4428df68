"""The declared schemas of every frame that crosses a room, and the check made where it enters one."""

from __future__ import annotations

import polars as pl

Schema = dict[str, pl.DataType]

#: One text of the pool: a field of a row, or one turn of a chat in it.
TEXTS: Schema = {
    "pool": pl.String(),  # name of the source, for example "train" or "en/train"
    "row": pl.Int64(),  # 0-based record of that source
    "row_id": pl.String(),  # value of the id column, null where there is none
    "field": pl.String(),  # path of the text in the record, see formats/fields.py
    "turn": pl.Int32(),  # 0-based position in a chat, null outside of one
    "role": pl.String(),  # "system", "user", "assistant", "tool"; null outside of a chat
    "text": pl.String(),  # as read; never null (nulls and non-strings are counted by the reader)
}

#: One part of a benchmark item.
ITEMS: Schema = {
    "benchmark": pl.String(),
    "item": pl.Int64(),  # 0-based record of the benchmark
    "item_id": pl.String(),
    "slice": pl.String(),  # named subset inside the benchmark, null where there is none
    "part": pl.String(),  # the column the text was read from, for example "Behavior"
    "kind": pl.String(),  # "question", "answer" or "context"; a context alone never condemns
    "text": pl.String(),
    "label": pl.Int8(),  # 1 flagged by the benchmark's policy, 0 not, null unknown
}

#: A pair that a detector proposes: a text of the shard and a distinct item text, and where in the row to look.
CANDIDATES: Schema = {
    "unit": pl.Int64(),  # index of the text in its shard
    "text": pl.Int64(),  # index of the distinct item text
    "first": pl.Int64(),  # window of the row, in tokens, half open
    "last": pl.Int64(),
    "shared": pl.Int64(),  # tokens that window and item share, null where the detector did not count them
    "detector": pl.String(),  # exact | seeds | minhash | an encoder's name
    "cosine": pl.Float64(),  # null for lexical detectors
}

#: A pair that an encoder proposes, with what stands around it; measured within the item's own benchmark.
CLOSE: Schema = CANDIDATES | {
    "lead": pl.Float64(),  # cosine less that of the closest other item text; below 0 where another is closer
    "item_lead": pl.Float64(),  # cosine less that of the item text and its closest other
    "row_mean": pl.Float64(),  # mean cosine of the row and its closest item texts
    "centred": pl.Float64(),  # cosine after the item texts' mean vector was taken from both
    "is_neighbour": pl.Boolean(),  # proposed only since the row is among the item's closest
}

#: One verified match of a pool text with an item part. No pool or benchmark text: positions only.
MATCHES: Schema = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "row_id": pl.String(),
    "field": pl.String(),
    "turn": pl.Int32(),
    "benchmark": pl.String(),
    "item": pl.Int64(),
    "item_id": pl.String(),
    "part": pl.String(),
    "tier": pl.String(),  # exact | contained | near | paraphrase
    "verdict": pl.String(),  # contaminated | review
    "rule": pl.String(),  # name of the rule that decided
    "threshold": pl.Float64(),  # value that the rule compared with
    "containment": pl.Float64(),  # shared shingles / shingles of the item
    "row_containment": pl.Float64(),  # shared shingles / shingles of the row
    "jaccard": pl.Float64(),
    "ratio": pl.Float64(),  # rapidfuzz similarity / 100, function named by `ratio_kind`
    "ratio_kind": pl.String(),
    "cosine": pl.Float64(),  # null for lexical tiers
    "encoder": pl.String(),  # null for lexical tiers
    "meaning": pl.Float64(),  # paraphrases: the verifier's score in [0, 1]; null where it was not asked
    "margin": pl.Float64(),  # translations: cosine over the mean cosine of both sides' closest; null for others
    "cross_encoder": pl.Float64(),  # its score of a paraphrase in [0, 1]; null where none was asked
    "q_value": pl.Float64(),
    "row_start": pl.Int64(),  # characters of the texts as read, half open
    "row_end": pl.Int64(),
    "item_start": pl.Int64(),
    "item_end": pl.Int64(),
    "view": pl.String(),  # which normalisation found it
    "numbers_differ": pl.Boolean(),
    "item_label": pl.Int8(),
    "label_conflict": pl.Boolean(),  # null where either label is unknown
}  # plus `pool_labels`: a struct with an Int8 field per declared policy

#: One item of a benchmark: found or not.
ITEM_RESULTS: Schema = {
    "benchmark": pl.String(),
    "item": pl.Int64(),
    "item_id": pl.String(),
    "slice": pl.String(),
    "label": pl.Int8(),
    "is_found": pl.Boolean(),  # at least one contaminated match
    "is_reported": pl.Boolean(),  # at least one match of any verdict
    "best_tier": pl.String(),  # strongest tier among its contaminated matches, else among review, else null
    "n_rows": pl.Int64(),  # rows with a contaminated match of it
    "n_review_rows": pl.Int64(),  # rows with a review match of it and no contaminated one
    "is_unmatchable": pl.Boolean(),  # no tier that ran can examine it
    "digest": pl.String(),  # of its canonical parts; equal items have equal digests
    "public_text": pl.String(),  # what makes it public text (see verify/public.py), null where nothing does
    "leaked_through": pl.List(pl.String()),  # pools of the chain that hold it, "pool" the audited one; null without
}

#: One row of a pool that was inspected. Of its text only counts and a digest.
INSPECTED: Schema = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "row_id": pl.String(),  # null where there is none, or the row has no prompt
    "source": pl.String(),  # value of the source column, else the pool's name
    "family": pl.String(),  # "pool:row" of its first row; null where families were not asked for
    "family_kind": pl.String(),  # single | exact | near
    "family_size": pl.Int64(),  # rows
    "flags": pl.List(pl.String()),  # empty | long | truncated | mojibake | replacement
    "n_texts": pl.Int64(),  # prompts
    "n_characters": pl.Int64(),
    "n_tokens": pl.Int64(),  # of auditkit's normalisation
    "n_model_tokens": pl.Int64(),  # of the tokenizer that was named, special tokens included; null without one
    "length": pl.String(),  # band of n_tokens
    "script": pl.String(),  # of most letters, null where there is no letter
    "n_scripts": pl.Int64(),
    "language": pl.String(),  # ISO 639 code, or "unknown"
    "digest": pl.String(),  # of its canonical prompts; null where they have no token
}  # plus `pool_labels`: a struct with an Int8 field per declared policy, where there are any

#: Two prompts, or a prompt and a benchmark item, that say the same and are labelled unlike.
CONFLICTS: Schema = {
    "policy": pl.String(),
    "kind": pl.String(),  # row | item: what the row conflicts with
    "family": pl.String(),
    "pool": pl.String(),  # a row of label `label`; of two rows that of label 1
    "row": pl.Int64(),
    "row_id": pl.String(),
    "label": pl.Int8(),
    "digest": pl.String(),
    "n_rows": pl.Int64(),  # rows of this label that hold the very text; the first of them is named
    "other": pl.String(),  # pool or benchmark
    "other_row": pl.Int64(),  # row or item
    "other_id": pl.String(),
    "other_label": pl.Int8(),
    "other_digest": pl.String(),
    "n_other_rows": pl.Int64(),  # 1 for an item
    "tier": pl.String(),
    "verdict": pl.String(),
    "rule": pl.String(),
    "ratio": pl.Float64(),
    "numbers_differ": pl.Boolean(),
}

#: One row that `decontaminate` took out (or masked).
REMOVED: Schema = {
    "pool": pl.String(),
    "row": pl.Int64(),
    "row_id": pl.String(),
    "action": pl.String(),  # removed | masked | set_aside
    "reason": pl.String(),
    "benchmark": pl.String(),
    "item": pl.Int64(),
    "item_id": pl.String(),
    "tier": pl.String(),
    "verdict": pl.String(),
    "rule": pl.String(),
    "field": pl.String(),
    "turn": pl.Int32(),
    "row_start": pl.Int64(),
    "row_end": pl.Int64(),
}

#: One prompt that arms are scored on: of the pool's dev or test side, or of a benchmark.
TARGETS: Schema = {
    "set": pl.String(),  # "train", "dev", "test", or the benchmark's name
    "item": pl.Int64(),  # 0-based within its set
    "group": pl.String(),  # near-duplicate family: the unit of bootstraps
    "source": pl.String(),  # where the prompt comes from, null where unknown
    "label_a": pl.Int8(),  # under policy A; null where unknown
    "label_b": pl.Int8(),
    "expected": pl.Int8(),  # the benchmark's own label; null for dev and test
}

#: One score of one arm. Every number of a study comes from this frame and TARGETS.
PREDICTIONS: Schema = {
    "arm": pl.String(),
    "seed": pl.Int64(),
    "set": pl.String(),
    "item": pl.Int64(),
    "score": pl.Float64(),  # P(flag), in [0, 1]; null where the guard gives a decision only, or failed
    "decision": pl.Int8(),  # the guard's own decision, null where it gives a score only
    "status": pl.String(),  # ok | unparsed | refused | error | truncated
}

#: One number about one arm and seed.
METRICS: Schema = {
    "arm": pl.String(),
    "seed": pl.Int64(),
    "set": pl.String(),
    "part": pl.String(),  # "all", or "source:NAME"
    "metric": pl.String(),  # auroc_concordant, recall_at_fpr, agreement_a, agreement_b, direction, strictness, ...
    "point": pl.String(),  # operating point, "" for threshold-free metrics
    "value": pl.Float64(),  # null where undefined
    "n": pl.Int64(),  # prompts it rests on
    "low": pl.Float64(),  # interval, null where none is computed
    "high": pl.Float64(),
}


def empty(schema: Schema) -> pl.DataFrame:
    """Return a frame of this schema without rows."""
    return pl.DataFrame(schema=schema)


def check(frame: pl.DataFrame, schema: Schema, where: str) -> pl.DataFrame:
    """Return `frame` if it has the columns of `schema` with their types (more columns are allowed).

    Raises:
        TypeError: a column is missing or of another type; this is a defect of auditkit, not of the input.
    """
    for name, dtype in schema.items():
        if name not in frame.columns:
            raise TypeError(f"{where}: column {name} is missing; columns are {frame.columns}")
        if frame.schema[name] != dtype:
            raise TypeError(f"{where}: column {name} is {frame.schema[name]}, expected {dtype}")
    return frame
