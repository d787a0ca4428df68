"""Texts -> the scripts of their letters, by Unicode's Script property: exact, for one version of Unicode."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

#: Unicode's Scripts.txt as the package confusable-homoglyphs carries it (Unicode 14 in version 3.3).
_DATA = ("confusable_homoglyphs", "categories.json")
#: Numbers of code points: no letter, a letter that several scripts share (the sound mark of kana, styled mathematical
#: letters), and one for each script from there on.
_NO_LETTER, _COMMON, _FIRST = 0, 1, 2
_SHARED = frozenset({"COMMON", "INHERITED"})


@dataclass(frozen=True)
class Scripts:
    """Scripts by number.

    Attributes:
        names: Unicode's names ("Latin", "Old_Italic"); "" for no letter, "Common" for letters of several scripts.
        of_point: number of each code point, 0 for all that is no letter (category L): uint8 [0x110000].
    """

    names: tuple[str, ...]
    of_point: NDArray[np.uint8]


@functools.lru_cache(maxsize=1)
def known_scripts() -> Scripts:
    """Return the scripts of all letters."""
    package, name = _DATA
    data = orjson.loads(files(package).joinpath(name).read_bytes())
    aliases, categories = data["iso_15924_aliases"], data["categories"]
    own = [alias for alias in aliases if alias not in _SHARED]
    numbers = {alias: at for at, alias in enumerate(own, _FIRST)}
    table = np.full(0x110000, _NO_LETTER, np.uint8)
    for first, last, alias, category in data["code_points_ranges"]:
        if categories[category].startswith("L"):
            table[first : last + 1] = numbers.get(aliases[alias], _COMMON)
    table.setflags(write=False)
    return Scripts(("", "Common", *map(_name, own)), table)


def _name(alias: str) -> str:
    return "_".join(word.capitalize() for word in alias.split("_"))


def scripts_of(texts: pl.Series) -> pl.DataFrame:
    """Return the scripts of a String series without nulls.

    Returns:
        `script` (String): the script of most letters, the earlier one in Unicode's order where two have as many;
        "Common" where no letter belongs to one script, null where there is no letter. `n_letters`, and `n_scripts`:
        scripts that have a letter, "Common" not counted (Int64).
    """
    is_common, n = pl.col("number") == _COMMON, pl.col("n")
    found = (
        _counts(texts)
        .sort("row", is_common, n, "number", descending=[False, False, True, False])
        .group_by("row", maintain_order=True)
        .agg(pl.col("number").first(), n.sum().alias("n_letters"), (~is_common).sum().alias("n_scripts"))
    )
    every = pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True)})
    placed = every.join(found, on="row", how="left", maintain_order="left")
    names = pl.Series("script", known_scripts().names, dtype=pl.String)
    return placed.select(names.gather(placed["number"]), pl.col("n_letters", "n_scripts").fill_null(0).cast(pl.Int64))


def _counts(texts: pl.Series) -> pl.DataFrame:
    """Return `row`, `number` of a script and `n`, its letters in that row, where there are any."""
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    number = known_scripts().of_point[points]
    is_letter = number != _NO_LETTER
    row = np.repeat(np.arange(len(texts), dtype=np.uint32), texts.str.len_chars().to_numpy())
    return pl.DataFrame({"row": row[is_letter], "number": number[is_letter]}).group_by("row", "number").len("n")
