"""What is asked for again, how long after, and what the line says when it is given up."""

from __future__ import annotations

import email.utils
import time
from types import SimpleNamespace
from typing import Any

import pytest

from auditkit.errors import InputError
from auditkit.formats import retry
from auditkit.formats.retry import ATTEMPTS, patiently


class AnswerError(Exception):
    """An answer as one of the libraries hands it over."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__("secret in the answer")
        self.__dict__.update(attributes)


def botocore(status: int, **headers: str) -> Exception:
    about = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    error = OSError("translated")
    error.__cause__ = AnswerError(response={"ResponseMetadata": about, "Error": {"Code": "x"}})
    return error


def aiohttp(status: int, **headers: str) -> Exception:
    error = FileNotFoundError("http://x")
    error.__cause__ = AnswerError(status=status, headers=headers)
    return error


def httpx(status: int, **headers: str) -> Exception:
    return AnswerError(response=SimpleNamespace(status_code=status, headers=headers))


def gcsfs(status: int, **headers: str) -> Exception:
    kind = type("HttpError", (AnswerError,), {"__module__": "gcsfs.retry"})
    return kind(code=status)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(retry.time, "sleep", found.append)
    return found


def ask(*answers: Any) -> Any:
    """Return the first answer that is no exception; all others are raised one after the other."""
    left = list(answers)

    def request() -> Any:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return patiently("s3://b/k", request)


@pytest.mark.parametrize("library", [botocore, aiohttp, httpx, gcsfs])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_stores_are_asked_again(library: Any, status: int, pauses: list[float]) -> None:
    assert ask(library(status), library(status), "data") == "data"
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("library", [botocore, aiohttp, httpx])
def test_the_pause_is_the_one_that_is_asked_for(library: Any, pauses: list[float]) -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    waits = ("7", date, "soon", "-1", "")
    assert ask(*(library(503, **{"retry-after": wait}) for wait in waits), "data") == "data"
    assert pauses == [7.0, pytest.approx(30, abs=2), 2.0, 4.0, 8.0]


def test_broken_connections_are_tried_again(pauses: list[float]) -> None:
    assert ask(ConnectionResetError(), TimeoutError(), ConnectionError("3 bytes"), "data") == "data"
    assert len(pauses) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (botocore(404), "no such file or folder; check the address"),
        (aiohttp(404), "no such file or folder; check the address"),
        (FileNotFoundError(), "no such file or folder; check the address"),
        (
            botocore(403),
            "access is denied; check that credentials are set in the environment, and that they allow it to be read",
        ),
        (PermissionError("key id AKIA"), "access is denied"),
        (gcsfs(400), r"cannot be read \(status 400\)"),
        (ValueError(), r"cannot be read \(ValueError\)"),
    ],
)
def test_refusals_are_final(answer: Exception, message: str, pauses: list[float]) -> None:
    with pytest.raises(InputError, match=f"^s3://b/k: {message}") as caught:
        ask(answer)
    assert pauses == []
    assert "secret" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


def test_attempts_are_bounded(pauses: list[float]) -> None:
    with pytest.raises(InputError) as caught:
        ask(botocore(503))
    assert str(caught.value) == (
        f"s3://b/k: could not be read in {ATTEMPTS} attempts (status 503); run the command again later"
    )
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_too_long_a_pause_is_not_waited_for(pauses: list[float]) -> None:
    with pytest.raises(InputError, match=r"asks to wait 3600 seconds \(status 429\); run the command again later"):
        ask(httpx(429, **{"Retry-After": "3600"}))
    assert pauses == []
