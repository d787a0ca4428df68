"""Fits the verifier of paraphrases and measures it on pairs that it was not fitted on.

    python benchmarks/meaning.py DIR [--labelled FILE.csv] [--fit] [--out benchmarks/results/meaning.json]

DIR holds pools/*.jsonl, benchmarks/*.jsonl (`text` each) and truth.jsonl (pool, row, benchmark, item, kind). Every row
proposes its closest item of one benchmark, as in an audit with `minilm`. The pairs are:

- of the kinds `rephrased` and `polite`: right where the item is that of the truth, wrong otherwise;
- the same rows with their item taken out of the benchmark: whatever they propose is wrong. The hardest unrelated rows;
- rows of gsm8k_train beside gsm8k_test: wrong;
- benchmarks/meaning_pairs.tsv, written for this script: a request, the same in other words, and a twin;
- twins: those of the file, the kind `twin`, and the safe beside the unsafe prompts of --labelled (prompt, label). They
  are never fitted on: what tells them from rewordings is not in the features, and the report counts them apart.

Even rows are for fitting, odd rows for measuring. --fit writes auditkit/verify/meaning.toml.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from machine import machine
from numpy.typing import NDArray

from auditkit.detect.neighbours import SAME, Neighbours, around
from auditkit.detect.paraphrase import share
from auditkit.text.encode import load_encoder
from auditkit.text.vectors import Embedder
from auditkit.verify import meaning
from auditkit.verify.meaning import FEATURES, Reading, features
from auditkit.verify.rules import default_rules

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "auditkit" / "verify" / "meaning.toml"
#: Cosine from which pairs are looked at; the rules ask for as much.
FLOOR = 0.5
#: How much a pair of a group counts in fitting: the few that were written by hand count more, the many less.
WEIGHTS = {"written": 4.0, "gsm8k_train": 0.3}
SCORES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
KNOWN = (
    ("gsm8k_rephrased", "gsm8k_test"),
    ("humaneval_rephrased", "humaneval"),
    ("harmbench_polite", "harmbench_text_all"),
)


@dataclass(frozen=True)
class Texts:
    """Some texts and their unit vectors."""

    texts: list[str]
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class Pairs:
    """Proposed pairs of one group: features [n, f], whether each is right, its row, and what the rules look at."""

    group: str
    features: NDArray[np.float64]
    is_right: NDArray[np.bool_]
    row: NDArray[np.int64]
    are_programs: NDArray[np.bool_]
    n_facts: NDArray[np.int64]
    opposes: NDArray[np.bool_]
    is_twin: bool = False


def propose(
    group: str, rows: Texts, items: Texts, truth: Mapping[int, int], *, take_out: bool = False, is_twin: bool = False
) -> Pairs:
    """Return each row's closest item; with `take_out`, of the items without the row's own."""
    parts = pl.DataFrame({"benchmark": [""] * len(items.texts), "item": range(len(items.texts))})
    neighbours, products = Neighbours.of(parts, items.vectors), rows.vectors @ items.vectors.T
    says_same = items.vectors @ items.vectors.T >= SAME
    if take_out:
        for row, item in truth.items():
            products[row, says_same[item]] = -1
    _, closest = next(neighbours.closest(products))
    item = closest[:, 0]
    wanted = [i for i, text in enumerate(rows.texts) if text.strip() and (not take_out or i in truth)]
    row = np.array([i for i in wanted if products[i, item[i]] >= FLOOR], np.int64)
    item = item[row]
    near = around(products, items.vectors, neighbours.rival, row, item, closest)
    mine, theirs = ([Reading.of(side.texts[i]) for i in at] for side, at in ((rows, row), (items, item)))
    measured = np.stack([np.round(products[row, item], 4), near.lead, near.item_lead], axis=1).astype(np.float64)
    right = [
        not take_out and i in truth and (truth[i] == j or bool(says_same[truth[i], j]))
        for i, j in zip(row, item, strict=True)
    ]
    return Pairs(
        group, features(mine, theirs, measured), np.array(right, np.bool_) & (not is_twin), row,
        np.array([a.is_program and b.is_program for a, b in zip(mine, theirs, strict=True)], np.bool_),
        np.array([b.n_facts for b in theirs]),
        np.array([meaning.opposes(a, b) for a, b in zip(mine, theirs, strict=True)], np.bool_), is_twin,
    )  # fmt: skip


def all_pairs(folder: Path, labelled: Path | None) -> list[Pairs]:
    """Return the pairs of all groups."""
    embedder = Embedder.of(load_encoder("minilm"))

    def embedded(texts: list[str]) -> Texts:
        return Texts(texts, np.concatenate([embedder.encode(texts[i : i + 512]) for i in range(0, len(texts), 512)]))

    def read(kind: str, name: str) -> Texts:
        return embedded(pl.read_ndjson(folder / kind / f"{name}.jsonl")["text"].to_list())

    truth = pl.read_ndjson(folder / "truth.jsonl")
    found = []
    for pool, bench in KNOWN:
        known = truth.filter((pl.col("pool") == pool) & (pl.col("benchmark") == bench)).select("row", "item")
        rows, items, own = read("pools", pool), read("benchmarks", bench), dict(known.iter_rows())
        found += [propose(pool, rows, items, own), propose(f"{pool}, item taken out", rows, items, own, take_out=True)]
    found.append(propose("gsm8k_train", read("pools", "gsm8k_train"), read("benchmarks", "gsm8k_test"), {}))
    written = pl.read_csv(HERE / "meaning_pairs.tsv", separator="\t", quote_char=None)
    request, reworded, twin = (embedded(written[name].to_list()) for name in ("request", "reworded", "twin"))
    own = {i: i for i in range(len(written))}
    found += [propose("written", reworded, request, own), propose("written twins", twin, request, {}, is_twin=True)]
    benign, harmful = read("pools", "jbb_benign_pool"), read("benchmarks", "jbb_harmful")
    found.append(propose("JailbreakBench twins", benign, harmful, {}, is_twin=True))
    if labelled is not None:
        with labelled.open(newline="", encoding="utf-8") as handle:
            prompts = [(row["prompt"], row["label"] == "safe") for row in csv.DictReader(handle)]
        safe, unsafe = (embedded([text for text, is_safe in prompts if is_safe == wanted]) for wanted in (True, False))
        found.append(propose("XSTest safe beside unsafe", safe, unsafe, {}, is_twin=True))
    return found


def fitted(pairs: list[Pairs], kind: str) -> dict[str, float]:
    """Return the coefficients and the intercept of one kind of text, fitted on its even rows."""
    from sklearn.linear_model import LogisticRegression

    parts = [(one, (one.row % 2 == 0) & (one.are_programs == (kind == "program"))) for one in pairs if not one.is_twin]
    x = np.concatenate([one.features[at] for one, at in parts])
    y = np.concatenate([one.is_right[at] for one, at in parts])
    weights = np.concatenate([np.full(at.sum(), WEIGHTS.get(one.group, 1.0)) for one, at in parts])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    model = LogisticRegression(C=1.0, max_iter=5000).fit((x - mean) / spread, y, sample_weight=weights)
    slopes = model.coef_[0] / spread
    values = {name: round(float(slope), 3) for name, slope in zip(FEATURES, slopes, strict=True)}
    return values | {"intercept": round(float(model.intercept_[0] - slopes @ mean), 3)}


def scored(one: Pairs) -> NDArray[np.float64]:
    """Return the scores of a group by the model in force."""
    prose, program = (meaning.models()[kind].scores(one.features) for kind in ("prose", "program"))
    return np.where(one.are_programs, program, prose)


def raised(one: Pairs) -> NDArray[np.bool_]:
    """Return which pairs the rules raise to `contaminated` where paraphrase.condemns is on."""
    rule = default_rules().paraphrase
    return (scored(one) >= rule.condemns_meaning) & (one.n_facts >= rule.condemns_facts) & ~one.opposes


def measured(pairs: list[Pairs]) -> dict[str, Any]:
    """Return what the verifier says of the odd rows."""
    odd = [(one, one.row % 2 == 1) for one in pairs]
    groups = {
        one.group: {
            "n_right": int((one.is_right & at).sum()),
            "n_wrong": int((~one.is_right & at).sum()),
            "at_score": {
                str(t): [int(((scored(one) >= t) & one.is_right & at).sum()),
                         int(((scored(one) >= t) & ~one.is_right & at).sum())] for t in SCORES
            },
            "raised": [int((raised(one) & one.is_right & at).sum()), int((raised(one) & ~one.is_right & at).sum())],
        }
        for one, at in odd
    }  # fmt: skip
    right, wrong, twins = (
        sum(group["raised"][i] for name, group in groups.items() if (name in twin_names) == is_twin)
        for twin_names in [{one.group for one in pairs if one.is_twin}]
        for i, is_twin in ((0, False), (1, False), (1, True))
    )
    return {"groups": groups, "raised": {"right": right, "wrong": wrong, "twins": twins,
                                         "share_wrong": share(wrong, right + wrong)}}  # fmt: skip


def write_model(sections: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the coefficients, and what was measured with them, and use them from now on."""
    lines = ["# Coefficients of the verifier of paraphrases, made by benchmarks/meaning.py --fit."]
    for kind, values in sections.items():
        plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
        lines += ["", f"[{kind}]", *(f"{name} = {value}" for name, value in plain.items())]
    MODEL.write_text("\n".join(lines) + "\n", encoding="utf-8")
    meaning.given.cache_clear()
    meaning.models.cache_clear()


def main() -> None:
    """Fit if asked, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labelled", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    pairs = all_pairs(arguments.folder, arguments.labelled)
    if arguments.fit:
        sections = {kind: fitted(pairs, kind) for kind in ("prose", "program")}
        write_model(sections)
        write_model(sections | {"measured": measured(pairs)["raised"]})
    result = measured(pairs) | {"machine": machine()}
    print(json.dumps(result, indent=1))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
