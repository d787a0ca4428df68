"""A progress bar on stderr where it is a terminal; silence everywhere else."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from auditkit.report.safe import shown


class _RowsColumn(ProgressColumn):
    """Rows so far, and rows a second."""

    def render(self, task: Task) -> Text:
        n_rows = int(task.fields.get("n_rows", 0))
        rate = n_rows / task.elapsed if task.elapsed else 0.0
        return Text(f"{n_rows:,} rows, {rate:,.0f} rows/s")


class Progress:
    """A context manager; `update` adds rows and bytes that were done.

    Args:
        total_bytes: bytes of the whole pool; None where unknown: rows and rate are shown, no time left.
        label: what is going on, for example "scanning".
        console: where to draw; stderr by default. Nothing is drawn where it is no terminal that can move its cursor.
    """

    def __init__(self, total_bytes: int | None = None, label: str = "", console: Console | None = None) -> None:
        console = console or Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
        self.is_drawn = console.is_terminal and not console.is_dumb_terminal
        self.n_rows = 0
        self.n_bytes = 0
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(markup=False),
            _RowsColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not self.is_drawn,
            transient=True,
        )
        self._task = self._bar.add_task(shown(label), total=total_bytes or None, n_rows=0)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def set_total(self, total_bytes: int) -> None:
        """Say how many bytes there are in all."""
        self._bar.update(self._task, total=total_bytes or None)

    def update(self, n_rows: int = 0, n_bytes: int = 0, label: str | None = None) -> None:
        """Add rows and bytes that are done; `label` names a new stage."""
        self.n_rows += n_rows
        self.n_bytes += n_bytes
        if label is not None:
            self._bar.update(self._task, description=shown(label))
        self._bar.update(self._task, completed=self.n_bytes, n_rows=self.n_rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
