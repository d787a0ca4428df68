"""A shard's result as a part: its key, its bytes, and back. It knows no source name, so other audits can use it."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import polars as pl

from auditkit.records import BadRow, TextBatch
from auditkit.run.digests import frame_digest
from auditkit.stories.scan import Shard

_FRAMES = ("pairs", "labels", "beyond", "sampled")
_COUNTS = ("n_rows", "n_texts", "n_template_only", "not_examined", "label_counts", "paraphrase_counts", "view_counts")


def key_of(batch: TextBatch, index: str) -> str:
    """Return the key of a shard: the digest of all that its result depends on, as hexadecimal digits.

    That is what was read of it (texts, addresses, labels, counts) and `index`, the digest of what it is compared with.
    The source's name is no part of it: a file that grew, or was moved, has the keys that it had.
    """
    content = frame_digest(batch.texts.drop("pool"), batch.labels, batch.id_hashes.to_frame())
    counts = [batch.n_rows, sorted(batch.not_examined.items()), [asdict(bad) for bad in batch.bad_rows]]
    return hashlib.sha256(f"{index}\0{content}\0{json.dumps(counts)}".encode()).hexdigest()


def encode(shard: Shard) -> bytes:
    """Return a shard's result as a Parquet file of one row: `counts` is JSON, each frame a list of structs."""
    counts = {name: getattr(shard, name) for name in _COUNTS} | {"bad_rows": [asdict(bad) for bad in shard.bad_rows]}
    columns = [pl.DataFrame({"counts": json.dumps(counts)}), shard.id_hashes.alias("id_hashes").implode().to_frame()]
    columns += [getattr(shard, name).select(pl.struct(pl.all()).implode().alias(name)) for name in _FRAMES]
    buffer = io.BytesIO()
    pl.concat(columns, how="horizontal").write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def decode(part: bytes) -> Shard:
    """Return the shard of a part.

    Raises:
        PolarsError, PanicException, ValueError, LookupError, TypeError: the bytes are no part, or a damaged one.
    """
    row = pl.read_parquet(io.BytesIO(part))
    counts: dict[str, Any] = json.loads(row["counts"][0])
    bad_rows = tuple(BadRow(**bad) for bad in counts.pop("bad_rows"))
    label_counts = {policy: Counter(labels) for policy, labels in counts.pop("label_counts").items()}
    frames = {name: row[name][0].struct.unnest() for name in _FRAMES}
    return Shard(**counts, **frames, label_counts=label_counts, id_hashes=row["id_hashes"][0], bad_rows=bad_rows)


def is_whole(part: bytes) -> bool:
    """Return whether these bytes are a part."""
    try:
        decode(part)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, LookupError, TypeError):
        return False
    return True
