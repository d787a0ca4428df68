"""Slow versions of the fast paths, in plain Python: written to be obviously right, and never to be quick."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

MASK = (1 << 64) - 1

Words = Sequence[str]


# ---------------------------------------------------------------- hashes


def fmix64(value: int) -> int:
    """Return MurmurHash3's 64-bit finaliser of an integer."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def token_hash(token: str) -> int:
    """Return fmix64 of the 64-bit FNV-1a of a token's UTF-8 bytes."""
    value = 0xCBF29CE484222325
    for byte in token.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return fmix64(value)


def extend(sequence: int, token: int) -> int:
    """Return the hash of a sequence and one more token hash."""
    value = ((sequence ^ sequence >> 29) * 0x9E3779B97F4A7C15 + token) & MASK
    return (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK


def gram_hash(words: Words) -> int:
    """Return the hash of a few tokens in a row."""
    value = 0x1F0D3804A5B8E9C1
    for word in words:
        value = extend(value, token_hash(word))
    return value


def sequence_hash(tokens: Sequence[int]) -> int:
    """Return the hash of a sequence of token hashes."""
    value = 0x1F0D3804A5B8E9C1
    for token in tokens:
        value = extend(value, token)
    return fmix64(value)


# ---------------------------------------------------------------- sets


def shingle_set(tokens: Words, size: int) -> set[tuple[str, ...]]:
    """Return the shingles of `size` tokens, or the one of all tokens where there are fewer."""
    size = min(size, len(tokens))
    return {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)} if size else set()


def jaccard(left: set[object], right: set[object]) -> Fraction:
    """Return shared / united elements."""
    return Fraction(len(left & right), len(left | right))


def collides(left: Sequence[int], right: Sequence[int], n_bands: int, n_rows: int) -> bool:
    """Return whether two signatures agree on a whole band."""
    return any(
        tuple(left[b * n_rows : (b + 1) * n_rows]) == tuple(right[b * n_rows : (b + 1) * n_rows])
        for b in range(n_bands)
    )


def stands_at(needle: Words, tokens: Words) -> list[int]:
    """Return every place at which `needle` stands in `tokens`."""
    return [i for i in range(len(tokens) - len(needle) + 1) if list(tokens[i : i + len(needle)]) == list(needle)]


def longest_run(left: Words, right: Words) -> tuple[int, int]:
    """Return the length of the longest run of tokens in both, and where it first stands in `left`."""
    for size in range(min(len(left), len(right)), 0, -1):
        theirs = shingle_set(right, size)
        for i in range(len(left) - size + 1):
            if tuple(left[i : i + size]) in theirs:
                return size, i
    return 0, 0


# ---------------------------------------------------------------- seeds


def seeds(
    texts: Sequence[Words],
    shortest: Sequence[int],
    max_texts: int,
    max_gram: int,
    share: Fraction = Fraction(1),
    least: int = 0,
) -> list[dict[int, Words]]:
    """Return, per text of four tokens or more, position -> seed.

    At each place the seed is the shortest gram, of `shortest` tokens at least, that at most `max_texts` of the texts
    still looking for a seed there have. A text in which no place has one keeps the longest grams it got to. Of its
    seeds each text keeps a share, but `least` of them: those that fewest texts have, of these those whose hash begins
    with the least 16 bits.
    """
    found: list[dict[int, Words]] = [{} for _ in texts]
    rank: list[dict[int, tuple[int, int]]] = [{} for _ in texts]
    looking = [(t, p) for t, text in enumerate(texts) if len(text) >= 4 for p in range(len(text))]
    for size in range(1, max_gram + 1):
        owners = defaultdict(set)
        for t, p in looking:
            owners[tuple(texts[t][p : p + size])].add(t)
        spread = {(t, p): len(owners[tuple(texts[t][p : p + size])]) for t, p in looking}
        is_rare = {(t, p): size >= shortest[t] and spread[t, p] <= max_texts for t, p in looking}
        going_on = [(t, p) for t, p in looking if not is_rare[t, p] and p + size < len(texts[t]) and size < max_gram]
        with_hope = {t for t, _ in going_on} | {t for t, places in enumerate(found) if places}
        with_hope |= {t for t, p in looking if is_rare[t, p]}
        for t, p in looking:
            if is_rare[t, p] or t not in with_hope:
                found[t][p] = texts[t][p : p + size]
                rank[t][p] = (spread[t, p], gram_hash(found[t][p]) >> 48, size, p)
        looking = going_on
    n_kept = [max(least, ceil(share * len(places))) for places in found]
    return [
        {p: places[p] for p in sorted(places, key=rank[t].__getitem__)[: n_kept[t]]} for t, places in enumerate(found)
    ]


#: So many seeds of one item near one diagonal make a candidate whatever else the window holds.
STRETCH_SEEDS = 8


def scan(
    rows: Sequence[Words], texts: Sequence[Words], seeds_of: Sequence[dict[int, Words]]
) -> list[tuple[int, int, int, int, int]]:
    """Return (row, text, first, last, shared) of every window that shares enough with a text.

    Every row is laid beside every text: each seed that stands in the row gives a diagonal (its place in the row less
    that in the text), diagonals without a jump between them make one window.
    """
    found = []
    for r, row in enumerate(rows):
        for t, text in enumerate(texts):
            diagonals = sorted(at - p for p, seed in seeds_of[t].items() for at in stands_at(seed, row))
            slack = max(4, len(text) // 3)
            for group in _without_jumps(diagonals, slack):
                first, last = max(0, group[0] - slack), min(len(row), group[-1] + len(text) + slack)
                shared = sum((Counter(row[first:last]) & Counter(text)).values())
                if len(group) >= STRETCH_SEEDS or _is_enough(shared, len(text), last - first, len(group)):
                    found.append((r, t, first, last, shared))
    return found


def _without_jumps(diagonals: list[int], slack: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for diagonal in diagonals:
        if groups and diagonal - groups[-1][-1] <= slack:
            groups[-1].append(diagonal)
        else:
            groups.append([diagonal])
    return groups


def _is_enough(shared: int, n_text: int, n_window: int, n_seeds: int) -> bool:
    if Fraction(shared, n_text) > Fraction(1, 2) or (Fraction(shared, n_text) == Fraction(1, 2) and n_seeds >= 4):
        return True
    is_part = n_window < n_text and Fraction(shared, n_window) >= Fraction(3, 4)
    return is_part and Fraction(shared, n_text) >= Fraction(3, 10)
