from __future__ import annotations

import io

import pytest
from rich.console import Console

from auditkit.report.progress import Progress


def test_silent_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(100, "scanning") as progress:
        progress.update(n_rows=5, n_bytes=50)
    assert (progress.n_rows, progress.n_bytes, progress.is_drawn) == (5, 50, False)
    assert capsys.readouterr() == ("", "")


def test_drawn_on_a_terminal_with_rows_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with Progress(200, "scanning [bold]x[/]\x1b[2J", console=console) as progress:
        progress.update(n_rows=1500, n_bytes=50)
        progress.update(n_rows=500, n_bytes=50, label="verifying")
        progress._bar.refresh()
    text = stream.getvalue()
    assert "scanning [bold]x[/]<U+001B>[2J" in text
    assert "verifying" in text
    assert "50%" in text
    assert "2,000 rows" in text
    assert "rows/s" in text
    assert ":" in text.rsplit("rows/s", 1)[-1]  # minutes and seconds left


def test_a_dumb_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO()
    with Progress(None, console=Console(file=stream, force_terminal=True)) as progress:
        progress.update(n_rows=1)
    assert stream.getvalue() == ""


def test_an_error_inside_passes_through(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="inside"), Progress():
        raise ValueError("inside")
    assert capsys.readouterr().err == ""
