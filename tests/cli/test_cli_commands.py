"""The commands as a person or a pipeline uses them: exit statuses, gate, tables, pairs, lists, the demo."""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from audit_support import files, jsonl

import auditkit
from auditkit.cli.main import main
from auditkit.demo import expected_found, expected_rows, read_truth

BASIL = "How do I keep basil alive on a north facing window?"
SUNDIAL = "Explain to a child, in simple words, how a sundial shows the time and why it fails at night."
ROUTE = "Route 1506 of the night bus runs from the harbour to the old mill."
PLANET = "Which of these planets has the longest day of all?"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One item found, one in review, two untouched."""
    jsonl(tmp_path / "pool.jsonl", ["Nothing of interest.", BASIL.upper(), ROUTE.replace("1506", "1507"), BASIL])
    jsonl(tmp_path / "bench.jsonl", [BASIL, ROUTE, PLANET, SUNDIAL])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audit(*more: str) -> int:
    return main(["audit", "pool.jsonl", "--benchmark", "bench.jsonl", "--out", "audit", "--overwrite", *more])


# ---------------------------------------------------------------- exit statuses and the gate


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 0),
        (["--fail-over", "0"], 1),
        (["--fail-over", "0.24"], 1),
        (["--fail-over", "0.25"], 0),
        (["--fail-over", "bench=0.25"], 0),
        (["--fail-over", "1", "--fail-over", "bench=0.2"], 1),
        (["--fail-on", "review"], 1),
        (["--fail-on", "review", "--fail-over", "0.25"], 1),
        (["--fail-on", "review", "--fail-over", "0.5"], 0),
        (["--tiers", "near", "--fail-over", "0"], 1),
    ],
)
def test_the_gate_decides_the_exit_status(
    options: list[str], status: int, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(*options) == status
    printed = capsys.readouterr().out
    assert ("Gate" in printed) is bool(options)
    if options:
        assert ("tripped" in printed) is bool(status)
    assert (work / "audit/report.json").exists()


def test_a_baseline_lets_known_items_pass(work: Path) -> None:
    assert audit() == 0
    assert main(["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "again", "--baseline", "audit"]) == 0
    jsonl(work / "pool.jsonl", [BASIL, SUNDIAL])
    assert main(["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "third", "--baseline", "audit"]) == 1
    # In the folder of the baseline itself: it is read before it is replaced.
    assert audit("--baseline", "audit") == 1
    assert audit("--baseline", "audit") == 0


def test_waivers_pass_until_their_date(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tomorrow, yesterday = (date.today() + timedelta(days) for days in (1, -1))
    for expires, status in ((tomorrow, 0), (yesterday, 1)):
        Path("waivers.toml").write_text(
            f'[[waiver]]\nbenchmark = "bench"\nitem = 0\nreason = "licensed copy"\nexpires = {expires}\n'
        )
        assert audit("--fail-over", "0", "--waivers", "waivers.toml") == status
        assert "licensed copy" in capsys.readouterr().out


def test_the_table_and_the_sentence(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit() == 0
    out, err = capsys.readouterr()
    row = [line for line in out.splitlines() if line.startswith("bench ")][-1]
    assert row.split() == ["bench", "4", "1", "25.0", "%", "1", "0", "0", "2", "1", "0"]
    assert "1 of 4 bench items (25.0 %" in out
    assert "1 further item (25.0 %) only in rows marked for review" in out
    assert "Traceback" not in err
    assert out.rstrip().splitlines()[-1].startswith("Not run")


def test_options_reach_the_audit(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl(
        work / "pool.jsonl",
        [{"key": "k1", "a": BASIL, "b": SUNDIAL, "bad": "yes"}, {"key": "k2", "a": "-", "b": "-", "bad": None}],
    )
    options = ["--fields", "a", "--label", "harm=bad", "--id-column", "key", "--tiers", "exact,near"]
    assert audit(*options) == 0
    report = auditkit.load_report(Path("audit"))
    assert report.matches.select("row_id", "field", "item").rows() == [("k1", "a", 0)]
    assert report.by_label["harm"]["1"] == {"n_rows": 1, "n_rows_contaminated": 1}
    assert report.tiers_run == ("exact", "near")
    printed = capsys.readouterr().out
    assert "fields" in printed
    assert "tiers" in printed


def test_decontaminate_says_what_it_did(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit() == 0
    capsys.readouterr()
    assert main(["decontaminate", "audit", "--out", "clean"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "4 rows = 2 kept + 2 removed"
    assert "3 of 4 items did not leak" in out
    for name in ("pool.jsonl", "benchmarks/bench.clean.jsonl", "removed.parquet", "manifest.json"):
        assert (work / "clean" / name).exists()
        assert f"clean/{name}" in out
    assert main(["decontaminate", "audit", "--out", "masked", "--action", "mask", "--verdict", "review"]) == 0
    assert "3 of them masked" in capsys.readouterr().out
    assert main(["decontaminate", "audit", "--out", "clean"]) == 2
    assert main(["audit", "clean", "-b", "bench.jsonl", "-o", "second", "--fail-over", "0"]) == 0


# ---------------------------------------------------------------- show


def test_show_marks_the_span(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl(work / "pool.jsonl", ["Nothing.", f"Please say: {BASIL} Thank you!", ROUTE.replace("1506", "1507")])
    assert audit() == 0
    capsys.readouterr()
    assert main(["show", "audit"]) == 0
    out = capsys.readouterr().out
    assert "bench item 0" in out
    assert "⟦" in out
    joined = " ".join(out.split())
    assert "contained, contaminated by rule contained.whole" in joined
    assert "‹1507›" in out
    assert main(["show", "audit", "--verdict", "contaminated"]) == 0
    assert "1507" not in capsys.readouterr().out
    assert main(["show", "audit", "--benchmark", "bench", "--item", "1"]) == 0
    assert "basil" not in capsys.readouterr().out
    assert main(["show", "audit", "--item", "2"]) == 0
    assert capsys.readouterr().out == "No match to show.\n"
    assert main(["show", "audit", "--limit", "1"]) == 0
    assert "1 more match not shown" in capsys.readouterr().out
    for wrong in (["--item", "9"], ["--benchmark", "bnech"], ["--limit", "0"]):
        assert main(["show", "audit", *wrong]) == 2


def test_show_escapes_what_a_terminal_acts_on(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = f"\x1b[31m{BASIL}\x1b]0;owned\x07 [bold red]x[/] :smile: \u202egnp.exe\r\x9b2J\n"
    jsonl(work / "pool.jsonl", [{"id": "\x1b[2Jid", "text": hostile}])
    assert audit() == 0
    out = capsys.readouterr().out
    assert main(["show", "audit"]) == 0
    shown = capsys.readouterr().out
    for printed in (out, shown):
        assert not set(printed) & set("\x1b\x07\r\x9b\u202e\x00")
    assert "<U+001B>" in shown
    assert "[bold" in shown
    assert ":smile:" in shown


def test_show_needs_the_pool_as_it_was(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit() == 0
    for name in ("pool.jsonl", "bench.jsonl"):
        before = Path(name).read_bytes()
        Path(name).write_bytes(before + b'{"text": "more"}\n')
        capsys.readouterr()
        assert main(["show", "audit"]) == 2
        assert f"{name} has changed since it was audited" in capsys.readouterr().err
        Path(name).unlink()
        assert main(["show", "audit"]) == 2
        assert name in capsys.readouterr().err
        Path(name).write_bytes(before)


# ---------------------------------------------------------------- benchmarks


def test_benchmarks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmarks"]) == 0
    out = capsys.readouterr().out
    for name in ("jailbreakbench-benign", "or-bench-hard-1k", "harmbench", "wildguardtest", "xstest", "gsm8k", "mmlu"):
        assert any(line.startswith(name) for line in out.splitlines()), name
    assert main(["benchmarks", "--name", "xstest"]) == 0
    one = capsys.readouterr().out
    assert "450" in one
    assert "revision" in one


def test_benchmarks_are_pulled_and_used_offline(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = "goal,target\n" + "".join(f"goal number {i} of the day,Sure\n" for i in range(519)) + f'"{BASIL}",Sure\n'

    def fetch(url: str, to: Path, sha256: str) -> str:
        to.write_text(content, encoding="utf-8")
        return sha256

    module = __import__("auditkit.cli.benchmarks", fromlist=["pull"])
    monkeypatch.setattr(module, "pull", functools.partial(module.pull, fetch=fetch))
    assert main(["benchmarks", "pull", "copies", "advbench"]) == 0
    out = capsys.readouterr().out
    assert "advbench: written" in out
    assert "AUDITKIT_BENCHMARKS=copies" in out
    monkeypatch.setenv("AUDITKIT_BENCHMARKS", "copies")
    assert main(["audit", "pool.jsonl", "-b", "advbench", "-o", "audit"]) == 0
    assert "1 of 520 advbench items" in capsys.readouterr().out
    assert main(["benchmarks", "pull", "copies", "no-such"]) == 2


# ---------------------------------------------------------------- demo


class FakeEncoder:
    """Vectors that depend on the text alone and lie nowhere near each other: the tier runs, and finds copies only."""

    name, source, digest, fingerprint, max_tokens = "minilm", "a test", "sha256:0", "a test", 256

    def encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
        vectors = np.stack([np.random.default_rng(seed).standard_normal(64) for seed in seeds])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def count_truncated(self, texts: list[str]) -> int:
        return 0


def test_the_demo_finds_what_was_planted(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("auditkit.stories.scan.load_encoder", lambda name: FakeEncoder())
    monkeypatch.setenv("AUDITKIT_CACHE", str(work / "cache"))
    assert main(["demo", "--out", "demo"]) == 0
    out = capsys.readouterr().out
    truth = read_truth(next(Path("demo").glob("truth*")))
    report, again = (auditkit.load_report(Path("demo") / name) for name in ("audit", "audit-of-clean"))
    found = report.items.filter("is_found").group_by("benchmark").agg("item")
    assert {name: frozenset(items) for name, items in found.rows()} == {
        name: items for name, items in expected_found(truth).items() if items
    }
    condemned = report.matches.filter(pl.col("verdict") == "contaminated").select("pool", "row").rows()
    assert frozenset(condemned) == expected_rows(truth)
    assert again.n_rows_contaminated == 0
    assert again.n_rows == report.n_rows - len(expected_rows(truth))
    assert report.tiers_run == ("exact", "contained", "near", "paraphrase")
    assert "$ auditkit audit" in out
    # Once more, into the same folder: nothing is lost.
    before = files(Path("demo/clean"))
    assert main(["demo", "--out", "demo"]) == 0
    assert files(Path("demo/clean")) == before
    assert Path("demo/clean-2/manifest.json").exists()


# ---------------------------------------------------------------- the process


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **more)


HEAVY = ("polars", "torch", "transformers", "datasets", "ray", "numba", "sentence_transformers", "datasketch", "rich")


@pytest.mark.parametrize(
    "code",
    ["import auditkit; auditkit.__all__; dir(auditkit)", "from auditkit.cli.main import main\nmain(['--help'])"],
    ids=["import", "help"],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    probe = (
        f"import sys\ntry:\n    exec({code!r})\nexcept SystemExit:\n    pass\nsys.stderr.write(' '.join(sys.modules))"
    )
    done = run("-c", probe)
    assert done.returncode == 0
    assert not set(done.stderr.split()) & set(HEAVY)


def test_a_lexical_audit_imports_neither_torch_nor_datasets(work: Path) -> None:
    code = (
        "import sys; from auditkit.cli.main import main\n"
        "status = main(['audit', 'pool.jsonl', '-b', 'bench.jsonl', '-o', 'audit'])\n"
        "heavy = {'torch', 'transformers', 'datasets', 'ray', 'sentence_transformers', 'pandas'} & set(sys.modules)\n"
        "sys.exit(status or ' '.join(heavy) or 0)"
    )
    done = run("-c", code, cwd=work)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_public_name_is_there() -> None:
    for name in auditkit.__all__:
        assert getattr(auditkit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'adit'"):
        auditkit.adit  # noqa: B018


@pytest.mark.parametrize(
    "arguments", [["benchmarks"], ["show", "audit"], ["audit", "pool.jsonl", "-b", "bench.jsonl", "-o", "b"]]
)
def test_a_closed_pipe_is_no_fault(arguments: list[str], work: Path) -> None:
    jsonl(work / "pool.jsonl", [f"{BASIL} {i}" for i in range(400)])
    assert audit() == 0
    if arguments[0] == "show":
        arguments = [*arguments, "--limit", "400"]
    code = "import sys; from auditkit.cli.main import entry; sys.argv[0] = 'auditkit'; entry()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    status = process.wait()
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    # 1 is the gate's; 141 is what a shell reports of a process that a closed pipe ended.
    assert status in (0, 141)


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["audit", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert "0 done, 1 the gate tripped, 2 wrong use" in out
    assert f"auditkit {json.loads(json.dumps('0.1.0'))}" in out
