"""Verdict rules: which tier, scores and lengths condemn. One small TOML; the defaults lie beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from auditkit.errors import RulesError, nearest


@dataclass(frozen=True)
class Exact:
    """Rules of the tier `exact`."""

    condemns: bool


@dataclass(frozen=True)
class Contained:
    """Rules of the tier `contained`."""

    min_tokens: int
    min_characters: int
    min_unspaced: int
    ratio: float
    review_ratio: float
    kept: float
    part_tokens: float
    part_min_tokens: int
    review_part_tokens: float
    stretch_tokens: int
    review_stretch_tokens: int


@dataclass(frozen=True)
class Near:
    """Rules of the tier `near`."""

    min_tokens: int
    ratio: float
    token_sort: float
    common_ratio: float
    common_share: float
    review_ratio: float
    short_ratio: float
    numbers_condemn: bool
    turned_condemns: bool


@dataclass(frozen=True)
class Minhash:
    """Settings of the MinHash detector."""

    jaccard: float
    recall: float
    permutations: int
    bands: int
    rows: int
    seed: int


@dataclass(frozen=True)
class Paraphrase:
    """Cosine thresholds by encoder, what the verifier's score decides, and what makes a translation."""

    minilm: float
    multilingual: float
    other: float
    floor: float
    meaning: float
    condemns: bool
    condemns_meaning: float
    condemns_facts: int
    cross_encoder: float
    translated: float
    margin: float

    def threshold(self, encoder: str) -> float:
        """Return the cosine from which pairs of this encoder are reported."""
        return {"minilm": self.minilm, "multilingual": self.multilingual}.get(encoder, self.other)


@dataclass(frozen=True)
class Context:
    """Rules for parts that only set the scene."""

    condemns_alone: bool


@dataclass(frozen=True)
class Answers:
    """Rules for answers."""

    min_tokens: int


@dataclass(frozen=True)
class Templates:
    """Rules for text that many items share, or many texts of the pool."""

    gram: int
    min_texts: int
    share: float
    payload: float
    condemns: float
    pool_texts: int


@dataclass(frozen=True)
class Frequency:
    """Rules for partial matches that recur over the pool."""

    partial_rows: int


@dataclass(frozen=True)
class Rules:
    """All verdict rules."""

    version: str
    exact: Exact
    contained: Contained
    near: Near
    minhash: Minhash
    paraphrase: Paraphrase
    context: Context
    answers: Answers
    templates: Templates
    frequency: Frequency

    def as_dict(self) -> dict[str, Any]:
        """Return the rules as plain values, by section."""
        return asdict(self)

    def changed(self) -> dict[str, Any]:
        """Return "section.name" -> value of the rules that differ from the defaults."""
        mine, defaults = _flat(self.as_dict()), _flat(default_rules().as_dict())
        return {name: value for name, value in mine.items() if value != defaults[name]}


def default_rules() -> Rules:
    """Return the bundled rules."""
    return rules_of(tomllib.loads(default_text()), "the bundled rules")


def default_text() -> str:
    """Return the bundled rules as the TOML that a person copies and changes."""
    return resources.files("auditkit.verify").joinpath("rules.toml").read_text(encoding="utf-8")


def load_rules(path: str | Path) -> Rules:
    """Return the bundled rules with what the file sets changed.

    Raises:
        RulesError: the file is missing or no TOML, or holds an unknown name or an impossible value.
    """
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RulesError(f"rules file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"rules file {path} is not TOML: {error}") from None
    merged = default_rules().as_dict()
    for section, values in given.items():
        if section not in merged:
            raise RulesError(f"rules file {path}: unknown section '{section}'{nearest(section, merged)}")
        if not isinstance(values, dict) or not isinstance(merged[section], dict):
            merged[section] = values
            continue
        for name, value in values.items():
            if name not in merged[section]:
                raise RulesError(f"rules file {path}: unknown name '{section}.{name}'{nearest(name, merged[section])}")
            merged[section][name] = value
    return rules_of(merged, f"rules file {path}")


def rules_of(values: Mapping[str, Any], where: str) -> Rules:
    """Return the rules of plain values, checked; `where` names them in errors."""
    if not isinstance(values["version"], str):
        raise RulesError(f"{where}: version is {values['version']!r}, expected a text in quotes")
    sections: dict[str, Any] = {"version": values["version"]}
    kinds = {f.name: globals()[str(f.type)] for f in fields(Rules) if f.name != "version"}
    for name, kind in kinds.items():
        section = values[name]
        if not isinstance(section, dict):
            raise RulesError(f"{where}: '{name}' is {section!r}, expected a section [{name}]")
        sections[name] = kind(
            **{f.name: _checked(section[f.name], f.type, f"{where}: {name}.{f.name}") for f in fields(kind)}
        )
    return Rules(**sections)


def _checked(value: Any, kind: Any, where: str) -> Any:
    """Return the value if it is of its kind and range; a share lies in [0, 1], a count is at least 0."""
    if kind == "bool":
        if not isinstance(value, bool):
            raise RulesError(f"{where} is {value!r}, expected true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RulesError(f"{where} is {value!r}, expected a number")
    if kind == "int":
        if not float(value).is_integer() or value < 0:  # NaN and infinity fail too
            raise RulesError(f"{where} is {value!r}, expected a whole number of at least 0")
        return int(value)
    if not 0 <= value <= 1:  # NaN fails too
        raise RulesError(f"{where} is {value!r}, expected a number in [0, 1]")
    return float(value)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for section, content in values.items():
        if isinstance(content, dict):
            flat |= {f"{section}.{name}": value for name, value in content.items()}
        else:
            flat[section] = content
    return flat
