"""The hand-written parts in `text/`: benchmark items, families of pool prompts, frames and chat turns."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from math import prod
from random import Random
from string import Formatter


@dataclass(frozen=True)
class Item:
    """One benchmark item; `rephrased` is the same request in other words, "" where none was written."""

    prompt: str
    rephrased: str = ""


@dataclass(frozen=True)
class Family:
    """Prompts on one theme with one pair of labels: templates, and the phrases for their slots."""

    name: str
    harm: int
    block: int
    templates: tuple[str, ...]
    slots: Mapping[str, tuple[str, ...]]

    def prompts(self, n: int, rng: Random) -> list[str]:
        """Return `n` distinct prompts, the templates in turn.

        Raises:
            ValueError: the family has fewer; this is a defect of the parts, not of the input.
        """
        per_template = [n // len(self.templates) + (i < n % len(self.templates)) for i in range(len(self.templates))]
        rng.shuffle(per_template)
        chosen = [text for t, k in zip(self.templates, per_template, strict=True) for text in self._filled(t, k, rng)]
        if len(set(chosen)) != n:
            raise ValueError(f"family {self.name} has too few phrases for {n} distinct prompts")
        return chosen

    def _filled(self, template: str, n: int, rng: Random) -> list[str]:
        """Return `n` fillings of one template, drawn without repetition from all combinations of its slots."""
        names = [name for _, name, _, _ in Formatter().parse(template) if name]
        n_fillings = prod(len(self.slots[name]) for name in names)
        fillings = list(product(*(self.slots[name] for name in names)))
        picked = rng.sample(range(n_fillings), n)
        texts = (template.format_map(dict(zip(names, fillings[i], strict=True))) for i in picked)
        return [text[0].upper() + text[1:] for text in texts]


@dataclass(frozen=True)
class Frames:
    """What stands around a prompt. In `frames` and `prose`, "{}" is the place of the planted text."""

    frames: tuple[str, ...]
    prose: tuple[str, ...]
    systems: tuple[str, ...]
    helpful: tuple[str, ...]
    refusing: tuple[str, ...]
    follow_ups: tuple[str, ...]


def _text(name: str) -> str:
    return resources.files("auditkit.demo").joinpath("text", name).read_text(encoding="utf-8")


def read_items(name: str) -> tuple[Item, ...]:
    """Return the items of `text/NAME.txt` in file order."""
    lines = (line for line in _text(f"{name}.txt").splitlines() if not line.startswith("#"))
    return tuple(Item(*(part.strip() for part in line.split(" | "))) for line in lines)


def read_families() -> tuple[Family, ...]:
    """Return the families of `text/pool.toml` in file order."""
    families = []
    for name, table in tomllib.loads(_text("pool.toml")).items():
        slots = {key: tuple(value) for key, value in table.items() if key not in ("harm", "block", "templates")}
        families.append(Family(name, table["harm"], table["block"], tuple(table["templates"]), slots))
    return tuple(families)


def read_frames() -> Frames:
    """Return what `text/frames.toml` holds."""
    return Frames(**{key: tuple(value) for key, value in tomllib.loads(_text("frames.toml")).items()})
