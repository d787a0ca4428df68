"""--cross-encoder through a whole audit: verdicts, column, report, plan, and parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny_cross
from audit_support import jsonl

import auditkit
from auditkit.cli.main import main
from auditkit.errors import UsageError
from auditkit.records import AuditReport
from auditkit.stories import scan
from auditkit.stories.settings import as_plain, from_plain
from auditkit.text.cross_encode import load_cross_encoder
from auditkit.verify.cross import HELD

pytestmark = pytest.mark.embed

ITEM = (
    "Tom picks 12 red apples in the old garden on Monday and gives Ann five of them for a cake. "
    "How many apples does Tom keep for the market?"
)
REWORDED = (
    "On Monday, in the old garden, a dozen red apples are picked by Tom, who hands 5 to Ann for a cake. "
    "What number of apples is left to Tom for the market?"
)
OTHERS = ["Why is the sky blue at noon?", "A train leaves York at nine and runs 60 miles. When is it there?"]
RULES = replace(auditkit.default_rules(), paraphrase=replace(auditkit.default_rules().paraphrase, condemns=True))


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path / "cache"))
    yield
    load_cross_encoder.cache_clear()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders: one finds every pair alike (0.95), the other none (0.05)."""
    base = tmp_path_factory.mktemp("models")
    logits = {"yes": 2.944439, "no": -2.944439}
    return {name: str(tiny_cross.save(base / name, logit=logit)) for name, logit in logits.items()}


def audit(cross_encoder: str, **more: Any) -> AuditReport:
    settings = auditkit.AuditSettings(("all",), rules=RULES, cross_encoder=cross_encoder)
    return auditkit.audit({"pool": [REWORDED, REWORDED, *OTHERS[:1]]}, {"bench": [ITEM, *OTHERS]}, settings, **more)


def close(report: AuditReport) -> pl.DataFrame:
    return report.matches.filter(pl.col("tier") == "paraphrase")


def test_it_holds_back_what_it_finds_unlike_and_is_in_the_report(models: dict[str, str]) -> None:
    none, yes, no = audit(""), audit(models["yes"]), audit(models["no"])
    assert close(none).select("row", "item", "verdict", "cross_encoder").rows() == [
        (0, 0, "contaminated", None),
        (1, 0, "contaminated", None),
    ]
    assert (
        close(yes).select("verdict", "rule", "cross_encoder").rows()
        == [("contaminated", "paraphrase.condemns_meaning", 0.95)] * 2
    )
    assert close(no).select("verdict", "rule", "threshold", "cross_encoder").rows() == [("review", HELD, 0.5, 0.05)] * 2
    assert close(no)["meaning"].to_list() == close(none)["meaning"].to_list()
    facts = no.detectors["cross-encoder"]
    assert (facts["n_pairs"], facts["n_truncated"], facts["n_held"]) == (2, 2, 2)
    assert (facts["name"], facts["max_tokens"], facts["threshold"]) == (models["no"], tiny_cross.MAX_TOKENS, 0.5)
    assert no.not_examined["pair cut at the maximum length of the cross-encoder"] == 2
    assert "cross-encoder" not in none.detectors
    assert no.changed["cross_encoder"] == models["no"]


def test_parts_made_with_another_cross_encoder_are_not_used(models: dict[str, str], tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [{"text": REWORDED}])
    bench = jsonl(tmp_path / "bench.jsonl", [{"text": text} for text in (ITEM, *OTHERS)])

    def run(name: str) -> AuditReport:
        settings = auditkit.AuditSettings(("all",), rules=RULES, cross_encoder=name)
        return auditkit.audit(pool, bench, settings, out=tmp_path / "out", overwrite=True)

    assert close(run(models["yes"]))["verdict"].to_list() == ["contaminated"]
    other = run(models["no"])
    assert (other.run["n_shards_reused"], close(other)["verdict"].to_list()) == (0, ["review"])
    assert run(models["no"]).run["n_shards_reused"] == 1
    assert close(auditkit.load_report(tmp_path / "out"))["cross_encoder"].to_list() == [0.05]


def test_settings_go_there_and_back(models: dict[str, str]) -> None:
    settings = auditkit.AuditSettings(("all",), rules=RULES, cross_encoder=models["yes"])
    assert from_plain(as_plain(settings, "", ""), RULES.as_dict()) == settings


def test_without_the_paraphrase_tier_it_is_an_error() -> None:
    with pytest.raises(
        UsageError, match="cross-encoder 'x' scores paraphrases, and that tier does not run; give tiers"
    ):
        auditkit.AuditSettings(cross_encoder="x")


@pytest.mark.parametrize("is_installed", [True, False])
def test_one_line_and_status_2(
    is_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [{"text": REWORDED}])
    if not is_installed:
        monkeypatch.setattr("auditkit.text.cross_encode.is_available", lambda: False)
        monkeypatch.setattr(scan, "load_encoder", lambda name: pytest.fail("the cross-encoder comes first"))
    out = tmp_path / "out"
    status = main(["audit", str(pool), "-b", str(pool), "-o", str(out), "--tiers", "all", "--cross-encoder", "no/such"])
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiling its kernels" not in line]
    assert (status, len(lines), out.exists()) == (2, 1, False)
    wanted = "cross-encoder 'no/such' cannot be loaded" if is_installed else "needs the extra 'embed'"
    assert wanted in lines[0]
