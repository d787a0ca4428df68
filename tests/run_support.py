"""Helpers of the tests of how an audit is run: an invented pool, an audit in small shards, and the files it left."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import auditkit
from auditkit.records import AuditReport

ITEMS = [f"How do I keep {plant} alive on a north facing window in winter?" for plant in ("basil", "thyme", "mint")]
RESULTS = ("matches.parquet", "items.parquet", "report.json", "report.md", "report.html")
SHARD_BYTES = 2_000


def rows(n: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return records of which every seventh is a copy of an item; some ids come again."""
    words = "amber brick cedar dune ember flint grove heath inlet jetty".split()  # noqa: SIM905
    random_ = random.Random(seed)
    texts = [" ".join(random_.choices(words, k=12)) for _ in range(n)]
    texts[::7] = [f"Please: {random_.choice(ITEMS)}" for _ in texts[::7]]
    return [{"id": f"r{i % (n - 5)}", "text": text, "harm": i % 2} for i, text in enumerate(texts)]


def settings(shard_bytes: int = SHARD_BYTES, **more: Any) -> auditkit.AuditSettings:
    read = auditkit.ReadSettings(labels=(auditkit.LabelRule("harm", "harm"),), shard_bytes=shard_bytes)
    return auditkit.AuditSettings(read=read, **more)


def audit(out: str, *pool: str, shard_bytes: int = SHARD_BYTES, tiers: Any = None, **more: Any) -> AuditReport:
    given = settings(shard_bytes, **({"tiers": tiers} if tiers else {}))
    return auditkit.audit(pool or ("pool.jsonl",), "bench.jsonl", given, out=out, **more)


def results(out: str | Path) -> dict[str, bytes]:
    return {name: (Path(out) / name).read_bytes() for name in RESULTS}


def parts(out: str | Path) -> dict[str, tuple[int, int]]:
    """Return name -> (inode, time of change): a part that was written again has others."""
    found = (Path(out) / "parts").glob("[!.]*")
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}
