"""Requests to remote stores: asked again when the store is busy, as it says, and given up with one line."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from auditkit.errors import InputError

T = TypeVar("T")

ATTEMPTS = 6
#: Seconds before the second attempt; doubled before each further one.
FIRST_WAIT = 0.5
#: A store that asks for a longer pause is not waited for.
LONGEST_WAIT = 120.0
_TRANSIENT = frozenset({408, 425, 429})
_DENIED = frozenset({401, 403})


def patiently(location: str, request: Callable[[], T], done: str = "read") -> T:
    """Return what `request` returns; it is made again after 408, 425, 429, any 5xx, and a broken connection.

    The pause is the one that Retry-After asks for, else FIRST_WAIT, doubled each time. What the store answers is not
    shown: it may hold a part of a credential.

    Args:
        location: what messages name.
        request: what is asked of the store.
        done: what happens to the location: "read" or "written".

    Raises:
        InputError: nothing is there, access is denied, or ATTEMPTS requests were not enough.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return request()
        except (InputError, ImportError):
            raise
        except Exception as exc:
            status, headers = _answer(exc)
            if not _is_transient(exc, status):
                raise InputError(f"{location}: {_refusal(exc, status, done)}") from exc
            pause = _retry_after(headers, FIRST_WAIT * 2 ** (attempt - 1))
            if attempt == ATTEMPTS or pause > LONGEST_WAIT:
                raise InputError(f"{location}: {_unanswered(exc, status, attempt, pause, done)}") from exc
        time.sleep(pause)
    raise AssertionError("unreachable")


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that it came from."""
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__


def _library(exc: BaseException) -> str:
    return type(exc).__module__.partition(".")[0]


def _answer(exc: BaseException) -> tuple[int | None, Mapping[str, str]]:
    """Return the HTTP status and headers behind an exception of botocore, aiohttp, requests, httpx or gcsfs.

    The status is None where there was no answer.
    """
    for each in _chain(exc):
        response = getattr(each, "response", None)
        if isinstance(response, Mapping):
            about: Mapping[str, Any] = response.get("ResponseMetadata", {})
            status, headers = about.get("HTTPStatusCode"), about.get("HTTPHeaders", {})
        else:
            # aiohttp's complaint about a body that is cut short has a code as well: 400, which nobody answered.
            code = getattr(each, "code", None) if _library(each) == "gcsfs" else None
            status = getattr(response, "status_code", None) or getattr(each, "status", None) or code
            headers = getattr(response, "headers", None) or getattr(each, "headers", None) or {}
        if isinstance(status, int) and status >= 400:
            return status, {str(name).casefold(): str(value) for name, value in headers.items()}
    return None, {}


def _is_transient(exc: BaseException, status: int | None) -> bool:
    if status is not None:
        return status in _TRANSIENT or status >= 500
    root = list(_chain(exc))[-1]
    # botocore's failures without an answer are neither OSError nor named in one tree that is there without it.
    is_connection = isinstance(root, OSError) or _library(root) in ("botocore", "aiohttp", "httpx")
    return is_connection and not isinstance(root, (FileNotFoundError, PermissionError, IsADirectoryError))


def _retry_after(headers: Mapping[str, str], otherwise: float) -> float:
    """Return the seconds that Retry-After asks for (RFC 9110, 10.2.3: a number or a date)."""
    asked = headers.get("retry-after", "").strip()
    if asked.isdecimal():
        return float(asked)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except ValueError:
        return otherwise


def _refusal(exc: BaseException, status: int | None, done: str) -> str:
    if status in _DENIED or isinstance(exc, PermissionError) or "Credentials" in type(exc).__name__:
        return (
            f"access is denied; check that credentials are set in the environment, and that they allow it to be {done}"
        )
    if status == 404 or isinstance(exc, FileNotFoundError):
        return "no such file or folder; check the address"
    return f"cannot be {done} ({_named(exc, status)}); check the address"


def _unanswered(exc: BaseException, status: int | None, attempt: int, pause: float, done: str) -> str:
    if pause > LONGEST_WAIT:
        return f"the store asks to wait {pause:.0f} seconds ({_named(exc, status)}); run the command again later"
    return f"could not be {done} in {attempt} attempts ({_named(exc, status)}); run the command again later"


def _named(exc: BaseException, status: int | None) -> str:
    return f"status {status}" if status is not None else type(list(_chain(exc))[-1]).__name__
