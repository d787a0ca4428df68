"""The frames that every number of a study comes from, as files of its folder."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from auditkit.errors import InputError
from auditkit.formats.streams import writing
from auditkit.report.as_json import parquet


@dataclass(frozen=True)
class Frames:
    """What was predicted, and of what.

    Attributes:
        predictions, targets: frames of tables.PREDICTIONS and tables.TARGETS (dev, test and benchmarks).
        training: labels of the training side, as tables.TARGETS.
        again: predictions of one arm and seed with another batch size and order.
        raw: frame of tables.PREDICTIONS of the arms trained on the contaminated pool; empty without `also_raw`.
    """

    predictions: pl.DataFrame
    targets: pl.DataFrame
    training: pl.DataFrame
    again: pl.DataFrame
    raw: pl.DataFrame

    @property
    def first(self) -> pl.DataFrame:
        """Return the predictions that `again` repeats, as they were first made."""
        return self.predictions.join(self.again.select("arm", "seed").unique(), on=["arm", "seed"], how="semi")

    def write(self, folder: Path) -> None:
        """Write each frame as a Parquet file of its name.

        Raises:
            OutputError: one cannot be written.
        """
        for one in fields(self):
            write_file(folder / f"{one.name}.parquet", parquet(getattr(self, one.name)))

    @classmethod
    def read(cls, folder: Path) -> Frames:
        """Return the frames in a study's folder.

        Raises:
            InputError: the folder holds no finished study.
        """
        names = [one.name for one in fields(cls)]
        missing = [name for name in names if not (folder / f"{name}.parquet").is_file()]
        if missing:
            raise InputError(
                f"{folder} holds no finished study ({missing[0]}.parquet is missing); run `auditkit study` first"
            )
        return cls(**{name: pl.read_parquet(folder / f"{name}.parquet") for name in names})


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it.

    Raises:
        OutputError: it cannot be written.
    """
    spare = path.with_name(f".{path.name}.tmp")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            spare.write_bytes(content)
            spare.replace(path)
        finally:
            spare.unlink(missing_ok=True)
