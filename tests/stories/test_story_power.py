"""`power`: the shares are those of the copies planted, the intervals hold them, the report carries them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from audit_support import files, jsonl
from statsmodels.stats.proportion import proportion_confint

from auditkit import AuditReport, AuditSettings, PowerSettings, audit, load_report, power
from auditkit.cli.main import main
from auditkit.errors import StaleAuditError, UsageError
from auditkit.estimates import KindPower, Power
from auditkit.records import ReadSettings

WORDS = [
    a + b for a in ("ba", "ki", "lo", "mu", "ne", "pa", "ro", "su", "ta", "vi") for b in ("dan", "fer", "gol", "hi")
]


def sentences(n: int, seed: int, least: int = 8, most: int = 20) -> list[dict[str, Any]]:
    rng = Random(seed)
    return [{"text": " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))} for _ in range(n)]


ITEMS, POOL = sentences(80, 1), sentences(300, 2)
SMALL = PowerSettings(n_plants=60, n_rows=100)


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    pool = jsonl(tmp_path / "in/pool.jsonl", [{**row, "label": i % 2} for i, row in enumerate(POOL)])
    bench = jsonl(tmp_path / "in/bench.jsonl", ITEMS)
    audit(pool, bench, AuditSettings(read=ReadSettings(fields=("text",))), out=tmp_path / "a")
    return tmp_path / "a"


def by_kind(measured: Power) -> dict[str, KindPower]:
    return {kind.kind: kind for kind in measured.kinds}


def test_whole_copies_are_all_found_and_unreadable_ones_only_by_a_view(audited: Path) -> None:
    found = by_kind(power(audited, SMALL))
    for name in ("verbatim", "wrapped", "embedded", "full_width", "zero_width"):
        assert (found[name].contaminated.share, found[name].contaminated.n) == (1.0, 60)
    assert set(found["verbatim"].n_by_tier) == {"exact"}
    assert set(found["embedded"].n_by_tier) == {"contained"}
    assert (
        found["words_1"].reported.n_found >= found["words_2"].reported.n_found > found["words_20%"].contaminated.n_found
    )


def test_shares_are_those_of_the_table_and_intervals_those_of_statsmodels(audited: Path) -> None:
    measured = power(audited, SMALL)
    plants = pl.read_parquet(audited / "power.parquet")
    for kind in measured.kinds:
        mine = plants.filter(pl.col("kind") == kind.kind)
        assert kind.contaminated.n == kind.reported.n == len(mine) == 60 - kind.n_not_made
        assert kind.contaminated.n_found == mine["is_found"].sum() == sum(kind.n_by_tier.values())
        assert kind.reported.n_found == mine["is_reported"].sum() >= kind.contaminated.n_found
        assert sum(share.n for share in kind.by_length.values()) == len(mine)
        low, high = proportion_confint(kind.contaminated.n_found, len(mine), method="wilson")
        n_found, n_missed = kind.contaminated.n_found, len(mine) - kind.contaminated.n_found
        # Of 60, one to three at an end have the wider bound of modified_wilson.
        assert kind.contaminated.low == pytest.approx(low, abs=1e-9) or 1 <= n_found <= 3
        assert kind.contaminated.high == pytest.approx(high, abs=1e-9) or 1 <= n_missed <= 3
        assert low >= kind.contaminated.low - 1e-9
        assert high <= kind.contaminated.high + 1e-9
    assert plants.filter(pl.col("is_found"))["tier"].null_count() == 0
    assert "text" not in plants.columns


def test_a_copy_that_is_found_by_an_audit_is_found_here(audited: Path, tmp_path: Path) -> None:
    """The same copies in a pool of their own, audited as a whole: the same are condemned."""
    from auditkit.plant.copies import Material, kinds

    words = sorted({word for item in ITEMS for word in item["text"].split()})
    edit = next(kind for kind in kinds() if kind.name == "words_2")
    measured = by_kind(power(audited, PowerSettings(n_plants=80, n_rows=100)))["words_2"]
    texts = [edit.make(item["text"], Random(f"words_2 1 {i}"), Material(words)) for i, item in enumerate(ITEMS)]
    report = audit([{"text": text} for text in texts], ITEMS, AuditSettings(decoys=0))
    matches = report.matches.filter((pl.col("row") == pl.col("item")) & (pl.col("verdict") == "contaminated"))
    assert measured.contaminated.n_found == matches["row"].n_unique() > 0


def test_equal_seeds_give_equal_files_and_others_do_not(audited: Path) -> None:
    power(audited, SMALL)
    first = files(audited)
    power(audited, SMALL)
    assert files(audited) == first
    power(audited, PowerSettings(n_plants=60, n_rows=100, seed=2))
    assert files(audited)["power.parquet"] != first["power.parquet"]


def test_the_report_carries_the_sentence(audited: Path) -> None:
    power(audited, SMALL)
    report = load_report(audited)
    assert isinstance(report, AuditReport)
    assert report.power is not None
    for name in ("report.md", "report.html"):
        text = (audited / name).read_text("utf-8").replace("&#91;", "[").replace("&#93;", "]")
        assert "Nothing found, and a verbatim copy would have been found 100.0 % [94.0, 100.0] of the time" in text
        assert "a copy with two words changed would have been found" in text
    assert json.loads((audited / "power.json").read_bytes())["kinds"][0]["contaminated"]["n"] == 60


def test_another_audit_in_the_folder_takes_the_power_away(audited: Path, tmp_path: Path) -> None:
    power(audited, SMALL)
    pool, bench = tmp_path / "in/pool.jsonl", tmp_path / "in/bench.jsonl"
    audit(pool, bench, out=audited, overwrite=True)
    assert not {name for name in files(audited) if name.startswith("power")}
    assert load_report(audited).power is None


def test_a_wanted_power_names_the_rules_that_reach_it_and_what_they_cost(audited: Path) -> None:
    measured = power(audited, PowerSettings(rates=(2,), n_plants=60, n_rows=100, wanted=0.95))
    assert measured.wanted == 0.95
    reached = [setting for setting in measured.settings if setting.kind == "words_2"]
    missed = by_kind(measured)["words_2"].reported.share
    assert missed is not None
    assert bool(reached) is (missed < 0.95)
    for setting in measured.settings:
        assert setting.value < setting.default
        assert setting.power.share is not None
        assert setting.power.share >= 0.95
        assert setting.n_review_rows >= 0
    assert power(audited, SMALL).settings == ()


def test_pairs_are_planted_as_rephrased(audited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [{"original": item["text"], "rephrased": " ".join(reversed(item["text"].split()))} for item in ITEMS[:30]]
    path = jsonl(tmp_path / "pairs.jsonl", pairs)
    assert main(["power", str(audited), "--pairs", str(path), "--plants", "20", "--sample", "50"]) == 0
    assert "a copy in other words: condemned 100.0 % [83.9, 100.0]" in capsys.readouterr().out
    more = [*pairs, {"original": "no item", "rephrased": "none"}]
    jsonl(path, more)
    assert main(["power", str(audited), "--pairs", str(path), "--plants", "20", "--sample", "50"]) == 0
    assert "pairs of no item: rephrased 1" in capsys.readouterr().out
    assert main(["power", str(audited), "--pairs", str(jsonl(path, more[-1:]))]) == 2
    assert "no pair's original is the text of an item" in capsys.readouterr().err
    assert main(["power", str(audited), "--pairs", str(jsonl(tmp_path / "odd.jsonl", [{"a": "b"}]))]) == 2
    assert "no record with the columns original and rephrased as text" in capsys.readouterr().err


def test_with_fdr_the_weak_do_not_count(tmp_path: Path) -> None:
    """Twenty exact copies cannot show less than 4 %, so at --fdr 0.01 no exact copy is condemned, and all are seen."""
    report = audit([*POOL, *ITEMS[:20]], ITEMS, AuditSettings(fdr=0.01))
    verbatim = by_kind(power(report, SMALL, pool=[*POOL, *ITEMS[:20]], benchmarks=ITEMS))["verbatim"]
    assert (verbatim.contaminated.share, verbatim.reported.share) == (0.0, 1.0)
    loose = audit([*POOL, *ITEMS[:20]], ITEMS, AuditSettings(fdr=0.5))
    verbatim = by_kind(power(loose, SMALL, pool=[*POOL, *ITEMS[:20]], benchmarks=ITEMS))["verbatim"]
    assert verbatim.contaminated.share == 1.0


def test_the_command_line(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", str(audited), "--rate", "2", "--rate", "10%", "--plants", "40", "--sample", "50"]) == 0
    out = capsys.readouterr().out
    assert "Nothing found, and a verbatim copy would have been found 100.0 % [91.2, 100.0] of the time" in out
    assert "a copy with 10 % of its words changed: condemned" in out
    assert "among 50 rows drawn from the pool's 300 (seed 1)" in out
    for slip, message in [
        (["--rate", "x"], "--rate is 'x', expected a whole number of words"),
        (["--rate", "1.5"], "rate is 1.5, expected a whole number of words"),
        (["--wanted", "1.2"], "wanted is 1.2, expected a share above 0 and up to 1"),
        (["--plants", "0"], "n_plants is 0, expected a whole number from 1"),
    ]:
        assert main(["power", str(audited), *slip]) == 2
        assert message in capsys.readouterr().err
    assert main(["power", str(audited.parent / "in")]) == 2
    assert "not a finished audit" in capsys.readouterr().err


def test_show_prints_the_power(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool, bench = jsonl(tmp_path / "pool.jsonl", [*POOL, ITEMS[0]]), jsonl(tmp_path / "bench.jsonl", ITEMS)
    audit(pool, bench, out=tmp_path / "a")
    power(tmp_path / "a", SMALL)
    assert main(["show", str(tmp_path / "a")]) == 0
    assert "1 of 80 items found, and a verbatim copy would have been found" in capsys.readouterr().out


def test_a_pool_that_has_changed_is_an_error_and_nothing_is_written(audited: Path, tmp_path: Path) -> None:
    before = files(audited)
    jsonl(tmp_path / "in/pool.jsonl", POOL[:10])
    with pytest.raises(StaleAuditError, match="pool has changed since it was audited"):
        power(audited, SMALL)
    assert files(audited) == before


def test_benchmarks_without_a_text_to_plant_are_an_error(tmp_path: Path) -> None:
    report = audit(POOL, [{"text": "!!!"}, {"text": "..."}])
    with pytest.raises(UsageError, match="nothing can be planted"):
        power(report, pool=POOL, benchmarks=[{"text": "!!!"}, {"text": "..."}])
