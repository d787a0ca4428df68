"""Pools that came before the audited one (a teacher's, an earlier stage's), as they are named: NAME=POOL, or a TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import UsageError
from auditkit.stories.sections import Section, beside

#: The name of the audited pool itself in a chain.
OWN = "pool"


@dataclass(frozen=True)
class Upstream:
    """One pool that came before.

    Attributes:
        name: what reports call it; also the name of its audit's folder.
        pools: inputs as `audit` takes them; `text_fields` narrows their text (the audited pool's fields do not).
    """

    name: str
    pools: tuple[str, ...]
    text_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        is_name = self.name.strip() == self.name != "" and self.name.isprintable() and self.name not in (".", "..")
        if not is_name or any(sign in self.name for sign in '/\\:*?"<>|'):
            raise UsageError(f"upstream name {self.name!r}: it names a folder; use letters, digits, - and _")
        if self.name == OWN:
            raise UsageError(f"upstream name '{OWN}' stands for the audited pool itself; choose another")


def parse_upstream(values: Iterable[str]) -> tuple[Upstream, ...]:
    """Return the pools that `--upstream` names, in order; a name that is given again adds to its pools.

    Args:
        values: NAME=POOL, or the path of a TOML with a table [[upstream]] for each: name, pools, and text (columns).

    Raises:
        UsageError: neither form, a file that cannot be read or used, or a name that cannot be a folder's.
    """
    found: dict[str, Upstream] = {}
    for value in values:
        for one in _parse(value):
            known = found.get(one.name, Upstream(one.name, ()))
            fields = dict.fromkeys((*known.text_fields, *one.text_fields))
            found[one.name] = Upstream(one.name, (*known.pools, *one.pools), tuple(fields))
    return tuple(found.values())


def _parse(value: str) -> Iterator[Upstream]:
    name, equals, pool = value.partition("=")
    if not equals and value.endswith(".toml"):
        yield from _load(Path(value))
        return
    if not name or not pool:
        raise UsageError(f"--upstream {value}: expected NAME=POOL, or a TOML file with tables [[upstream]]")
    yield Upstream(name, (pool,))


def _load(path: Path) -> Iterator[Upstream]:
    """Yield the pools of a file; paths in it are relative to it."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"upstream file {path} cannot be read: {error.strerror}; check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"upstream file {path} is not TOML: {error}") from None
    top = Section(values, str(path))
    for section in top.tables("upstream"):
        pools = tuple(beside(one, path.parent) for one in section.texts("pools"))
        yield Upstream(section.text("name"), pools, tuple(section.texts("text", ())))
        section.refuse_rest()
    top.refuse_rest()


def as_plain(upstream: Sequence[Upstream]) -> list[dict[str, Any]]:
    """Return the pools as plain values."""
    return [{"name": one.name, "pools": list(one.pools), "text": list(one.text_fields)} for one in upstream]


def from_plain(plain: Iterable[Mapping[str, Any]]) -> tuple[Upstream, ...]:
    """Return the pools that a report carries."""
    return tuple(Upstream(one["name"], tuple(one["pools"]), tuple(one["text"])) for one in plain)
