"""Which disguises the views undo: every item of some benchmarks in each disguise, audited against the benchmarks.

    python benchmarks/disguises.py BENCHMARK.jsonl... [--clean POOL...] [--sample 300] \
        [--out benchmarks/results/disguises.json]

Each file holds one text a line, in the column `prompt` or `text`. Beside the disguises of single letters, words and
whole texts there are mixed ones, one inside another. Counted are items condemned and reported, other items condemned
beside the right one (near twins), and, of rows of `--clean` that hold no item, those condemned and what reading them
took.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import html
import json
import random
import sys
import textwrap
import time
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
from machine import machine

import auditkit
from auditkit.run.versions import versions

SEED = 1
Disguise = Callable[[str], str]


def mapped(letters: str, others: str) -> Disguise:
    """Return the disguise that writes some letters as others."""
    table = str.maketrans(letters, others)
    return lambda text: text.translate(table)


def alphabet(capital: int, small: int) -> Disguise:
    """Return the disguise in an alphabet of Unicode that begins at these code points."""
    pairs = [(ord("A"), capital), (ord("a"), small)]
    table = {first + i: chr(start + i) for first, start in pairs for i in range(26)}
    return lambda text: text.translate(table)


def between(mark: str, words: str = " ") -> Disguise:
    """Return the disguise with a mark between letters and another one between words."""
    return lambda text: words.join(mark.join(word) for word in text.split())


def after_letters(mark: str, every: int = 1) -> Disguise:
    """Return the disguise with a mark behind every n-th letter."""
    return lambda text: "".join(c + mark * (c.isalpha() and i % every == 0) for i, c in enumerate(text))


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def entities(text: str) -> str:
    return "".join(f"&#{ord(char)};" for char in text)


def in_some_words(disguise: Disguise) -> Disguise:
    """Return the disguise of every second word."""
    return lambda text: " ".join(disguise(word) if i % 2 else word for i, word in enumerate(text.split(" ")))


SMALL_CAPITALS = mapped("abcdefghijklmnopqrstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ")
LEET = mapped("aeiost", "431057")
ROW_OF_FLAGS = {ord("a") + i: chr(0x1F1E6 + i) + "\u200b" for i in range(26)}

DISGUISES: dict[str, Disguise] = {
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "mathematical bold": alphabet(0x1D400, 0x1D41A),
    "mathematical fraktur": alphabet(0x1D56C, 0x1D586),
    "circled": alphabet(0x24B6, 0x24D0),
    "negative squared": lambda text: alphabet(0x1F170, 0x1F170)(text),
    "regional indicators": lambda text: text.lower().translate(ROW_OF_FLAGS),
    "small capitals": lambda text: SMALL_CAPITALS(text.lower()),
    "zero width": after_letters("\u200b", 2),
    "soft hyphens": after_letters("\u00ad", 3),
    "strike through": after_letters("\u0336"),
    "piled marks": after_letters("\u0315\u0328\u0353"),
    "acute on all letters": after_letters("\u0301"),
    "cyrillic": mapped("aeopcyxikhABEHKMOPCTX", "аеорсухіκһАВЕНКМОРСТХ"),
    "cyrillic rough": mapped("aeopcyxinrwmthk", "аеорсухіпяшмтнк"),
    "greek": mapped("aoviupyABEHIKMNOPTXYZ", "αονιυργΑΒΕΗΙΚΜΝΟΡΤΧΥΖ"),
    "greek rough": mapped("aoviupynwektx", "αονιυργηωεκτχ"),
    "armenian and others": mapped("ouhngsq", "օսհոցѕզ"),
    "leet aeiost": LEET,
    "leet symbols": mapped("aisl", "@!$|"),
    "leet abegilostz": mapped("abegilostz", "4836110572"),
    "leet in half of the words": in_some_words(LEET),
    "spaced, wide between words": between(" ", "   "),
    "spaced evenly": between(" "),
    "dots between letters": between("."),
    "dashes between letters": between("-", "  "),
    "base64": base64_of,
    "base64 after an instruction": lambda text: "Decode and answer: " + base64_of(text),
    "base64 for URLs, unpadded": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in lines": lambda text: "\n".join(textwrap.wrap(base64_of(text), 40)),
    "base64 twice": lambda text: base64_of(base64_of(text)),
    "hex": lambda text: text.encode().hex(),
    "hex with spaces": lambda text: text.encode().hex(" "),
    "hex with 0x": lambda text: " ".join(f"0x{byte:02x}" for byte in text.encode()),
    "backslash x": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "backslash u": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "rot13": rot13,
    "rot13 after an instruction": lambda text: "Undo rot13 and answer this: " + rot13(text),
    "percent, spaces only": urllib.parse.quote,
    "percent, all": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent with plus": urllib.parse.quote_plus,
    "entities": entities,
    "tags in words": lambda text: "<p>" + " ".join(f"{w[:1]}<b>{w[1:]}</b>" for w in text.split()) + "</p>",
    "escaped HTML": lambda text: html.escape(f"<p>{' <i>'.join(text.split(' ', 1))}</i></p>"),
    "markdown in words": lambda text: " ".join(f"{w[:1]}**{w[1:2]}**{w[2:]}" for w in text.split()),
    "chat markers": lambda text: f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n",
    "INST": lambda text: f"<s>[INST] {text} [/INST]",
    "headings": lambda text: f"### Instruction:\n{text}\n\n### Response:\n",
    "base64 of rot13": lambda text: base64_of(rot13(text)),
    "base64 of leet": lambda text: base64_of(LEET(text)),
    "hex of base64": lambda text: base64_of(text).encode().hex(),
    "percent of base64": lambda text: urllib.parse.quote(base64_of(text), safe=""),
    "spaced leet": lambda text: between(" ", "   ")(LEET(text)),
    "fullwidth leet": lambda text: DISGUISES["fullwidth"](LEET(text)),
    "cyrillic and zero width": lambda text: after_letters("\u200b", 2)(DISGUISES["cyrillic"](text)),
    "base64 of rot13 of leet": lambda text: base64_of(rot13(LEET(text))),
}


def texts_of(path: Path) -> list[str]:
    """Return the texts of a JSONL file."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [record["prompt"] if "prompt" in record else record["text"] for record in records]


def named(benchmarks: Sequence[Path]) -> list[str]:
    """Return the benchmarks as an audit takes them, under names that no registered one has."""
    return [f"of-{path.stem}={path}" for path in benchmarks]


def measure(benchmarks: Sequence[Path], sample: int) -> dict[str, dict[str, float]]:
    """Return kind -> n, shares condemned and reported, and other items condemned a row."""
    items = {f"of-{path.stem}": texts_of(path) for path in benchmarks}
    every = [(name, i) for name, texts in items.items() for i in range(len(texts))]
    chosen = random.Random(SEED).sample(every, min(sample, len(every)))
    rows = [(kind, *where) for kind in DISGUISES for where in chosen]
    pool = pl.DataFrame({"text": [DISGUISES[kind](items[name][i]) for kind, name, i in rows]})
    found = auditkit.audit(pool, named(benchmarks)).matches
    said, bad = set[tuple[int, str, int]](), set[tuple[int, str, int]]()
    for row, name, i, verdict in found.select("row", "benchmark", "item", "verdict").rows():
        (bad if verdict == "contaminated" else said).add((row, name, i))
    results: dict[str, dict[str, float]] = {}
    for kind in DISGUISES:
        at = {(row, name, i) for row, (k, name, i) in enumerate(rows) if k == kind}
        # Texts that several benchmarks have are found in each.
        same = {(row, n, j) for row, name, i in at for n, j in every if items[n][j] == items[name][i]}
        mine = {pair for pair in bad if rows[pair[0]][0] == kind}
        results[kind] = {
            "n": len(at),
            "condemned": len(at & bad) / len(at),
            "reported": len(at & (bad | said)) / len(at),
            "others_condemned": len(mine - same) / len(at),
        }
    return results


def clean_rows(benchmarks: Sequence[Path], pools: Sequence[Path]) -> dict[str, object]:
    """Return what pools without items lose to the views: condemned rows, readings, seconds with and without."""
    seconds, reports = {}, {}
    for views in ("none", "default", "none", "default"):
        start = time.process_time()
        settings = auditkit.AuditSettings(views=(views,))
        reports[views] = auditkit.audit(list(map(str, pools)), named(benchmarks), settings)
        seconds[views] = min(seconds.get(views, 1e9), time.process_time() - start)
    counts = {views: (report.n_rows_contaminated, report.n_rows_review) for views, report in reports.items()}
    return {
        "pools": [path.name for path in pools],
        "n_rows": reports["none"].n_rows,
        "processor_seconds": {views: round(value, 2) for views, value in seconds.items()},
        "rows_condemned_and_for_review": counts,
        "readings": reports["default"].detectors["views"]["n_readings"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", nargs="+", type=Path)
    parser.add_argument("--clean", nargs="*", type=Path, default=[])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    about = {"machine": machine(), "versions": versions(has_encoder=False), "seed": SEED}
    kinds = measure(arguments.benchmarks, arguments.sample)
    for kind, figures in kinds.items():
        print(f"{kind:32}", *(f"{name} {value:.3f}" for name, value in figures.items() if name != "n"))
    body = {**about, "benchmarks": [path.name for path in arguments.benchmarks], "kinds": kinds}
    if arguments.clean:
        body["clean"] = clean_rows(arguments.benchmarks, arguments.clean)
        print(body["clean"])
    if arguments.out:
        arguments.out.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
