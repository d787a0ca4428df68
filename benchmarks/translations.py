"""What real audits with `--encoder multilingual` report of translated rows, and of rows that translate nothing.

    python benchmarks/translations.py --data FOLDER [--out FILE]

Pools are the translations of MultiJail and CatQA, a source each; benchmarks their English originals, GSM8K and
HumanEval. Of each pool: how many rows are reported for their own item, and how many, wrongly, for an item of a
benchmark that they do not translate. A second audit has every other item of MultiJail and CatQA taken out: how many
of the rows that lost theirs are reported for another item there, the closest of many alike. The thresholds were
chosen on these five sets, so the first figure is no test of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from machine import machine

from auditkit import AuditSettings, audit
from auditkit.evaluate.scoring import wilson
from auditkit.run.versions import versions

RESULT = Path(__file__).parent / "results" / "translations.json"
LANGUAGES = ("zh", "it", "vi", "ar")
#: Pool -> the benchmark that it translates, row by row.
ORIGINALS = {"catqa_zh": "original_catqa", **{f"multijail_{language}": "original_multijail" for language in LANGUAGES}}
SETTINGS = AuditSettings(("paraphrase",), ("multilingual",), decoys=0)

Texts = Mapping[str, Sequence[str]]


def pools(data: Path) -> Texts:
    """Return the translated rows by name."""
    jail = pl.read_ndjson(data / "pairs/multijail_0_159.jsonl")
    translated = {f"multijail_{language}": jail[language].to_list() for language in LANGUAGES}
    return {"catqa_zh": _catqa(data / "pairs/catqa_chinese.json"), **translated}


def benchmarks(data: Path) -> Texts:
    """Return the items by benchmark."""
    return {
        "original_catqa": _catqa(data / "pairs/catqa_english.json"),
        "original_multijail": pl.read_ndjson(data / "pairs/multijail_0_159.jsonl")["en"].to_list(),
        "school_maths": pl.read_ndjson(data / "gsm8k/test.jsonl")["question"].to_list(),
        "programs": pl.read_ndjson(data / "humaneval/HumanEval.jsonl")["text"].to_list(),
    }


def _catqa(path: Path) -> list[str]:
    tree = json.loads(path.read_text("utf-8"))
    return [question for kinds in tree.values() for questions in kinds.values() for question in questions]


def reported(rows: Texts, items: Texts) -> pl.DataFrame:
    """Return pool, row, benchmark and item of every match; an item is known by its place among all, `item_id`."""
    records = {
        name: [{"id": str(place), "text": text} for place, text in enumerate(texts) if text]
        for name, texts in items.items()
    }
    report = audit({name: list(texts) for name, texts in rows.items()}, records, SETTINGS)
    return report.matches.select("pool", "row", "benchmark", pl.col("item_id").cast(pl.Int64).alias("item"))


def measure(rows: Texts, items: Texts) -> dict[str, Any]:
    """Return the shares of rows reported for their own item, for other benchmarks, and with their item taken out."""
    found, half = reported(rows, items), reported(rows, _every_other(items))
    own = pl.col("benchmark") == pl.col("pool").replace_strict(ORIGINALS)
    right = found.filter(own & (pl.col("row") == pl.col("item")))
    alone = half.filter(own & (pl.col("row") % 2 == 1))
    kinds = {
        "the other benchmark of harmful requests": ("original_catqa", "original_multijail"),
        "benchmarks of other subjects": ("school_maths", "programs"),
    }
    return {
        "own item": _by_pool(right, rows, lambda n: n),
        **{
            f"beside {what}": _by_pool(found.filter(~own & pl.col("benchmark").is_in(names)), rows, lambda n: n)
            for what, names in kinds.items()
        },
        "beside their own benchmark, item taken out": _by_pool(alone, rows, lambda n: n // 2),
    }


def _every_other(items: Texts) -> Texts:
    """Return the items with those of uneven places emptied in the benchmarks that are translated."""
    return {
        name: [text if place % 2 == 0 or name not in ORIGINALS.values() else "" for place, text in enumerate(texts)]
        for name, texts in items.items()
    }


def _by_pool(found: pl.DataFrame, rows: Texts, of: Any) -> dict[str, Any]:
    counts = {name: found.filter(pl.col("pool") == name)["row"].n_unique() for name in rows}
    sizes = {name: of(len(texts)) for name, texts in rows.items()}
    each = {name: _share(counts[name], sizes[name]) for name in rows}
    return {**each, "all": _share(sum(counts.values()), sum(sizes.values()))}


def _share(count: int, n: int) -> dict[str, Any]:
    estimate = wilson(count, n)
    return {"count": count, "n": n, "share": estimate.value, "low": estimate.low, "high": estimate.high}


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of published benchmarks")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    measured = measure(pools(arguments.data), benchmarks(arguments.data))
    content = {"machine": machine(), "versions": versions(has_encoder=True), "reported": measured}
    arguments.out.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    for what, shares in measured.items():
        print(what, {name: f"{one['count']} of {one['n']}" for name, one in shares.items()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
