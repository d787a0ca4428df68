"""Data sets of the Hub by name, and objects of `datasets`; the library is imported when one is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from auditkit.errors import InputError

PREFIX = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_FORM = "expected hf:org/name, hf:org/name:config, hf:org/name:config:split or hf:org/name::split, each with @revision"
_GONE = frozenset({"DatasetNotFoundError", "RepositoryNotFoundError", "RevisionNotFoundError"})
_UNREACHABLE = frozenset(
    {"ConnectionError", "TimeoutError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "TransportError"}
)
_SEVERAL_CONFIGURATIONS = "Config name is missing"

Fault = Literal["gated", "gone", "unreachable", "configuration", "other"]


@dataclass(frozen=True)
class HubName:
    """A data set of the Hub. Empty: the default configuration, all splits, the newest revision."""

    name: str
    config: str = ""
    split: str = ""
    revision: str = ""


def is_hub_name(text: str) -> bool:
    """Return whether a text names a data set of the Hub ("hf:org/name"), not a file there ("hf://...")."""
    return text.startswith(PREFIX) and not text.startswith(f"{PREFIX}//")


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
    fault = hub_fault(exc)
    first = (str(exc).strip() or type(exc).__name__).split("\n", 1)[0][:300]
    if fault == "gated":
        return f"access is gated ({first}); ask for access on its Hub page, then log in with: hf auth login"
    if fault == "gone":
        return (
            f"no such data set or revision, or it is private ({first}); check the name, or log in with: hf auth login"
        )
    if fault == "configuration":
        return f"it has several configurations ({' '.join(str(exc).split())[:300]}); add one: hf:{name.name}:CONFIG"
    if fault == "unreachable":
        return (
            f"not in the cache, and the Hub cannot be reached ({first}); connect to the network once, or fetch it "
            f"elsewhere (hf download --repo-type dataset {name.name} --local-dir DIR) and name DIR instead"
        )
    return f"`datasets` cannot load it ({first}); check configuration, split and revision, or name its files instead"


def hub_fault(exc: BaseException) -> Fault:
    """Return what a failure of `datasets` or `huggingface_hub` means, by the types and HTTP answers behind it.

    Messages hold names of data sets, and decide nothing, but for a configuration that is not named: that is a bare
    ValueError. The Hub answers 401 for what does not exist as well, so a "not found" weighs more than the number.
    """
    causes = list(_causes(exc))
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    answers = {getattr(getattr(cause, "response", None), "status_code", None) for cause in causes}
    if "GatedRepoError" in kinds:
        return "gated"
    if kinds & _GONE or 404 in answers:
        return "gone"
    if answers & {401, 403}:
        return "gated"
    if kinds & _UNREACHABLE:
        return "unreachable"
    is_open = isinstance(exc, ValueError) and str(exc).startswith(_SEVERAL_CONFIGURATIONS)
    return "configuration" if is_open else "other"


def _causes(exc: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    error: BaseException | None = exc
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def splits_of(data: Any) -> dict[str, Any]:
    """Return split -> Dataset of a DatasetDict or a Dataset."""
    if isinstance(data, dict):
        return {str(split): dataset for split, dataset in data.items()}
    return {str(getattr(data, "split", None) or "pool"): data}


def is_datasets(data: Any) -> bool:
    """Return whether an object comes from `datasets`, without importing it."""
    return type(data).__module__.split(".")[0] == "datasets"
