"""Decoys in a whole audit: they change nothing but q-values, on any shard size, and --fdr acts on them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest
from audit_support import condemned, files, jsonl

from auditkit import AuditSettings, ReadSettings, RunSettings, audit, audit_shard, decontaminate, load_report, merge
from auditkit.cli.main import main
from auditkit.errors import UsageError

WORDS = [
    a + b for a in ("ba", "ki", "lo", "mu", "ne", "pa", "ro", "su", "ta", "vi") for b in ("dan", "fer", "gol", "him")
]


def sentences(n: int, seed: int) -> list[str]:
    rng = Random(seed)
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(6, 14))) for _ in range(n)]


BENCH = sentences(60, 1)
ITEMS = [{"text": text} for text in BENCH]
POOL = [
    {"text": text}
    for text in [
        *sentences(300, 2),
        *BENCH[:20],
        *[f"Please answer me this: {item} Thank you." for item in BENCH[10:25]],
    ]
]


def found(decoys: int | None = None, fdr: float | None = None, shard_bytes: int = 1 << 20) -> pl.DataFrame:
    settings = AuditSettings(decoys=decoys, fdr=fdr, read=ReadSettings(shard_bytes=shard_bytes))
    return audit(POOL, ITEMS, settings).matches


def test_decoys_change_nothing_but_the_q_values() -> None:
    with_decoys, without = found(), found(decoys=0)
    assert with_decoys.drop("q_value").equals(without.drop("q_value"))
    assert without["q_value"].null_count() == len(without)
    assert with_decoys["q_value"].null_count() == 0


def test_q_values_do_not_depend_on_shards() -> None:
    assert found(shard_bytes=500).equals(found())


def test_no_decoy_is_in_the_tables_or_the_rates() -> None:
    report = audit(POOL, ITEMS, AuditSettings(decoys=500))
    assert report.errors is not None
    assert report.errors.n_sets == 9
    assert len(report.items) == report.benchmarks[0].n_items == 60
    assert report.matches["item"].min() == 0
    assert report.benchmarks[0].n_found == 25


def test_the_rate_asked_for_turns_what_is_less_sure_to_review() -> None:
    report = audit(POOL, ITEMS, AuditSettings(fdr=0.02))
    assert condemned(report) == set()  # 20 exact and 15 contained matches cannot show less than 5 %
    assert set(report.matches["rule"]) == {"fdr"}
    assert report.errors is not None
    assert report.errors.n_weakened == 35
    assert len(condemned(audit(POOL, ITEMS, AuditSettings(fdr=0.1)))) == 35


def test_a_merged_audit_has_the_same_q_values(tmp_path: Path) -> None:
    pools = [jsonl(tmp_path / f"in/pool{i}.jsonl", POOL[i::2]) for i in range(2)]
    bench = jsonl(tmp_path / "bench.jsonl", ITEMS)
    audit(pools, bench, out=tmp_path / "whole")
    for i in (1, 2):
        audit_shard(pools, bench, shard=(i, 2), out=tmp_path / "parts")
    merge([tmp_path / "parts"], out=tmp_path / "merged")
    audit(pools, bench, out=tmp_path / "again", run=RunSettings(reuse=(tmp_path / "whole",)))
    whole, merged, again = (files(tmp_path / name) for name in ("whole", "merged", "again"))
    for name in ("matches.parquet", "items.parquet", "report.json", "report.md", "report.html"):
        assert whole[name] == merged[name] == again[name]


def test_the_report_names_error_rates_and_is_read_back(tmp_path: Path) -> None:
    report = audit(POOL, ITEMS, AuditSettings(fdr=0.02), out=tmp_path / "a")
    assert load_report(tmp_path / "a").errors == report.errors
    for name in ("report.md", "report.html"):
        text = (tmp_path / "a" / name).read_text("utf-8")
        assert "60 decoys of 60 items" in text
        assert "twins are outside the estimate" in text
        assert "rule fdr" in text
        assert "coarse, 20 matches cannot show a share below 5.0 %" in text


def test_cleaning_an_audit_with_decoys_takes_no_row_for_them(tmp_path: Path) -> None:
    pool, bench = jsonl(tmp_path / "pool.jsonl", POOL), jsonl(tmp_path / "bench.jsonl", ITEMS)
    audit(pool, bench, AuditSettings(decoys=300), out=tmp_path / "a")
    for action in ("remove", "mask"):
        result = decontaminate(tmp_path / "a", tmp_path / action, action=action)  # type: ignore[arg-type]
        assert result.n_kept + result.n_removed == len(POOL)
        assert not condemned(audit(tmp_path / action / "pool.jsonl", bench))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoys": -1}, "decoys is -1, expected a whole number from 0"),
        ({"fdr": 1.5}, "fdr is 1.5, expected a share between 0 and 1"),
        ({"fdr": float("nan")}, "fdr is nan, expected a share between 0 and 1"),
        ({"fdr": 0.01, "decoys": 0}, "fdr asks for decoys, and decoys is 0"),
    ],
)
def test_a_slip_is_one_line(settings: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        AuditSettings(**settings)  # type: ignore[arg-type]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool, bench = jsonl(tmp_path / "pool.jsonl", POOL), jsonl(tmp_path / "bench.jsonl", ITEMS)
    base = ["audit", str(pool), "--benchmark", str(bench), "--out", str(tmp_path / "a")]
    assert main([*base, "--decoys", "30", "--fdr", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "exact: of 20 condemned matches at most 10.0 % wrong (decoys: 0 condemned)" in out
    assert main([*base, "--fdr", "2"]) == 2
    assert "fdr is 2.0, expected a share between 0 and 1" in capsys.readouterr().err
