"""Benchmarks from elsewhere: a dataset of the Hub, or one file behind an address. Every failure says what to do."""

from __future__ import annotations

import hashlib
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from auditkit.errors import BenchmarkError
from auditkit.read.hub import HubName, hub_fault

_TIMEOUT_SECONDS = 60
OFFLINE_HINT = (
    "on a machine with a network run `auditkit benchmarks pull DIR`, copy DIR here and set AUDITKIT_BENCHMARKS=DIR, "
    "or name a local copy with NAME=PATH"
)


class UnreachableError(BenchmarkError):
    """There is no way to the Hub or the address from here: trying another one is of no use."""


def hub_page(name: HubName) -> str:
    """Return the dataset's page, where terms are accepted."""
    return f"https://huggingface.co/datasets/{name.name}"


def hub_location(name: HubName) -> str:
    """Return a Hub name as a user writes it: "hf:org/name:config:split@revision"."""
    tail = f":{name.config}:{name.split}" if name.split else f":{name.config}" if name.config else ""
    return f"hf:{name.name}{tail}" + (f"@{name.revision}" if name.revision else "")


def load_split(spec: HubName) -> Any:
    """Return one split as a datasets.Dataset, from the Hub or from its local cache.

    Raises:
        BenchmarkError: gated, unknown, unreachable, or several splits and none named.
    """
    import datasets

    try:
        loaded = datasets.load_dataset(
            spec.name, spec.config or None, split=spec.split or None, revision=spec.revision or None
        )
    except Exception as exc:
        raise hub_error(exc, spec) from exc
    if not isinstance(loaded, dict):
        return loaded
    if len(loaded) != 1:
        names = ", ".join(sorted(loaded))
        raise BenchmarkError(
            f"{hub_location(spec)}: has the splits {names}; name one: hf:{spec.name}:{spec.config}:SPLIT"
        )
    return next(iter(loaded.values()))


def hub_error(exc: BaseException, spec: HubName) -> BenchmarkError:
    """Return the error that says what a failure of `datasets` or `huggingface_hub` means, and what to do."""
    fault = hub_fault(exc)
    if fault == "gated":
        return gated_error(hub_location(spec), hub_page(spec))
    if fault == "gone":
        return BenchmarkError(
            f"{hub_location(spec)}: no such dataset or revision on the Hub, or it is private; see {hub_page(spec)}, "
            "and log in with `hf auth login` if it is yours"
        )
    if fault == "unreachable":
        return UnreachableError(
            f"{hub_location(spec)}: not cached, and the Hub cannot be reached from here; {OFFLINE_HINT}"
        )
    if fault == "configuration":
        return BenchmarkError(
            f"{hub_location(spec)}: has several configurations ({' '.join(str(exc).split())[:300]}); name one: "
            f"hf:{spec.name}:CONFIG:SPLIT"
        )
    first = (str(exc).splitlines() or [""])[0][:300]
    return BenchmarkError(
        f"{hub_location(spec)}: `datasets` could not load it: {type(exc).__name__}: {first}; see {hub_page(spec)}"
    )


def gated_error(location: str, page: str) -> BenchmarkError:
    """Return the error for a gated set without access."""
    return BenchmarkError(
        f"{location}: gated, and this account has no access; accept its terms at {page}, then log in with "
        "`hf auth login` (or set HF_TOKEN) and run the command again"
    )


def is_offline() -> bool:
    """Return whether the user told the Hub's libraries to stay offline; they then answer from their cache at once."""
    on = {"1", "true", "yes", "on"}
    return any(os.environ.get(name, "").casefold() in on for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"))


def revision_of(dataset: Any) -> str:
    """Return the commit that a loaded dataset came from, "" where `datasets` does not say."""
    checksums = getattr(getattr(dataset, "info", None), "download_checksums", None) or {}
    commits = {found[1] for url in checksums if (found := re.search(r"@([0-9a-f]{40})/", str(url)))}
    return commits.pop() if len(commits) == 1 else ""


def download(url: str, to: Path, sha256: str = "") -> str:
    """Write the file behind `url` to `to`, and return its sha256 in hex.

    Raises:
        BenchmarkError: refused, missing, unreachable, or not the file whose digest is registered.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "auditkit"})
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response, to.open("wb") as out:
            while chunk := response.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
    except urllib.error.HTTPError as exc:
        with exc:
            raise _http_error(url, exc) from exc
    except (urllib.error.URLError, TimeoutError, ConnectionError) as exc:
        reason = getattr(exc, "reason", exc)
        raise UnreachableError(f"{url}: cannot be reached from here ({reason}); {OFFLINE_HINT}") from exc
    if sha256 and digest.hexdigest() != sha256:
        raise BenchmarkError(
            f"{url}: not the registered file: its sha256 is {digest.hexdigest()}, expected {sha256}; it was changed "
            "upstream or on the way; to use it as it is, save it and name it (mine=PATH)"
        )
    return digest.hexdigest()


def _http_error(url: str, exc: urllib.error.HTTPError) -> BenchmarkError:
    if exc.code in (401, 403):
        return gated_error(url, url)
    return BenchmarkError(
        f"{url}: the server answered {exc.code} {exc.reason}; it may have moved: save a copy and name it with NAME=PATH"
    )
