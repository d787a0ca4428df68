"""Data sets of the Hub by name, and objects of `datasets`; the library is imported when one is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from auditkit.errors import InputError

PREFIX = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_FORM = "expected hf:org/name, hf:org/name:config, hf:org/name:config:split or hf:org/name::split, each with @revision"
_GATED = ("gated", "401", "403", "authenticat", "access to dataset")
_OFFLINE = ("offline", "couldn't reach", "connection", "max retries", "resolve host", "timed out", "name resolution",
            "couldn't find", "doesn't exist on the hub", "cannot find the cached", "localentrynotfound")  # fmt: skip


@dataclass(frozen=True)
class HubName:
    """A data set of the Hub. Empty: the default configuration, all splits, the newest revision."""

    name: str
    config: str = ""
    split: str = ""
    revision: str = ""


def parse_hub_name(text: str) -> HubName:
    """Return the parts of "hf:org/name:config:split@revision".

    Raises:
        InputError: another form.
    """
    rest, _, revision = text.removeprefix(PREFIX).partition("@")
    parts = rest.split(":")
    if not text.startswith(PREFIX) or not _NAME.fullmatch(parts[0]) or len(parts) > 3 or text.endswith("@"):
        raise InputError(f"{text}: not the name of a data set of the Hub; {_FORM}")
    config, split = (*parts[1:], "", "")[:2]
    return HubName(parts[0], config, split, revision)


def load_hub(text: str) -> dict[str, Any]:
    """Return split -> datasets.Dataset of a Hub name, from the cache or the network.

    Raises:
        InputError: a name of another form, or a data set that is not cached and cannot be fetched.
    """
    name = parse_hub_name(text)
    import datasets

    try:
        loaded = datasets.load_dataset(
            name.name, name.config or None, split=name.split or None, revision=name.revision or None
        )
    except Exception as exc:  # a library that loads foreign data fails in many ways; each is the input's fault
        raise InputError(f"{text}: {_reason(name, exc)}") from exc
    return {str(name.split): loaded} if name.split else splits_of(loaded)


def _reason(name: HubName, exc: Exception) -> str:
    """Return why a data set could not be loaded, and what to do."""
    chain = f"{type(exc).__name__} {exc} {exc.__cause__ or ''}".casefold()
    first = (str(exc).strip() or type(exc).__name__).split("\n", 1)[0][:300]
    if any(sign in chain for sign in _GATED):
        return f"access is gated ({first}); ask for access on its Hub page and log in with: hf auth login"
    if isinstance(exc, ValueError) and "config" in chain and "missing" in chain:
        return f"it has several configurations ({' '.join(str(exc).split())[:300]}); add one as hf:{name.name}:CONFIG"
    if isinstance(exc, (ConnectionError, OSError)) or any(sign in chain for sign in _OFFLINE):
        return (
            f"not in the cache and not to be fetched ({first}); check the name, connect to the network once, or fetch "
            f"it elsewhere (hf download --repo-type dataset {name.name} --local-dir DIR) and name DIR instead"
        )
    return f"`datasets` cannot load it ({first}); check configuration, split and revision, or name its files instead"


def splits_of(data: Any) -> dict[str, Any]:
    """Return split -> Dataset of a DatasetDict or a Dataset."""
    if isinstance(data, dict):
        return {str(split): dataset for split, dataset in data.items()}
    return {str(getattr(data, "split", None) or "pool"): data}


def is_datasets(data: Any) -> bool:
    """Return whether an object comes from `datasets`, without importing it."""
    return type(data).__module__.split(".")[0] == "datasets"
