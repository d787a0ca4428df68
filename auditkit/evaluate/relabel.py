"""Tests by relabelling arms: share of the final-stage policy, extremes, and what capability explains beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.evaluate.floors import _TIE, EXACT_LIMIT, N_PERMUTATIONS

Floats = NDArray[np.float64]


def policy_share(
    means: Sequence[float], policies: Sequence[str], models: Sequence[str], seed: int = 0
) -> tuple[float | None, float | None]:
    """Return (eta^2, p): SS(final-stage policy) / SS(arms), policies permuted among the arms of the same model.

    Every arrangement where there are at most EXACT_LIMIT, else N_PERMUTATIONS drawn with `seed`. `mixed` is a policy of
    its own. (None, None) where all arms score alike or have one policy.
    """
    scores, labels = np.asarray(means, float), np.asarray(policies)
    total = float(((scores - scores.mean()) ** 2).sum())
    if len(set(policies)) < 2 or total <= _TIE:
        return None, None
    codes = np.unique(labels, return_inverse=True)[1]
    observed = _between(scores, codes[None])[0]
    blocks = [np.flatnonzero(np.asarray(models) == model) for model in dict.fromkeys(models)]
    drawn, is_exact = _arrangements(codes, blocks, seed)
    n_beyond = int((_between(scores, drawn) >= observed - _TIE).sum())
    p = n_beyond / len(drawn) if is_exact else (1 + n_beyond) / (1 + len(drawn))
    return float(observed / total), p


def smallest_share_p(policies: Sequence[str], models: Sequence[str], seed: int = 0) -> float | None:
    """Return the p of `policy_share` if arms of one policy scored alike: these arms cannot have a smaller one."""
    kinds = sorted(set(policies))
    return policy_share([float(2 ** kinds.index(policy)) for policy in policies], policies, models, seed)[1]


def _between(scores: Floats, codes: NDArray[np.int64]) -> Floats:
    """Return the between-group sum of squares of each row of `codes`."""
    found = np.zeros(len(codes))
    for code in range(int(codes.max()) + 1):
        member = codes == code
        n = member.sum(1)
        sums = (member * scores).sum(1)
        found += np.divide((sums - n * scores.mean()) ** 2, n, out=np.zeros(len(codes)), where=n > 0)
    return found


def _arrangements(codes: NDArray[np.int64], blocks: list[Any], seed: int) -> tuple[NDArray[np.int64], bool]:
    """Return rearrangements of `codes` within `blocks`, and whether they are all of them."""
    n_all = math.prod(_n_orders(codes[block].tolist()) for block in blocks)
    if n_all <= EXACT_LIMIT:
        rows = []
        for orders in product(*(list(_orders(Counter(codes[block].tolist()))) for block in blocks)):
            row = codes.copy()
            for block, order in zip(blocks, orders, strict=True):
                row[block] = order
            rows.append(row)
        return np.array(rows), True
    drawn = np.tile(codes, (N_PERMUTATIONS, 1))
    random = np.random.default_rng(seed)
    for block in blocks:
        drawn[:, block] = random.permuted(drawn[:, block], axis=1)
    return drawn, False


def _n_orders(values: list[int]) -> int:
    return math.factorial(len(values)) // math.prod(math.factorial(n) for n in Counter(values).values())


def _orders(left: Counter[int]) -> Iterator[tuple[int, ...]]:
    """Yield each distinct order of a multiset once."""
    if not left.total():
        yield ()
        return
    for value in sorted(value for value, n in left.items() if n):
        for rest in _orders(left - Counter([value])):
            yield (value, *rest)


def capability_share(
    means: Sequence[float],
    capability: Sequence[float],
    policies: Sequence[str],
    models: Sequence[str],
    seed: int = 0,
) -> tuple[float | None, float | None]:
    """Return (partial r^2, p) of arm means with capability once each final-stage policy's mean is taken out of both.

    Residuals are permuted N_PERMUTATIONS times among the arms of the same model (Freedman and Lane 1983). (None, None)
    with fewer than three degrees of freedom, or where nothing is left to explain.
    """
    y, x = _residuals(np.asarray(means, float), policies), _residuals(np.asarray(capability, float), policies)
    scale = float((x**2).sum() * (y**2).sum())
    if len(means) - len(set(policies)) < 3 or scale <= _TIE**2:
        return None, None
    observed = float((x * y).sum() ** 2)
    drawn = np.tile(y, (N_PERMUTATIONS, 1))
    random = np.random.default_rng(seed)
    for model in dict.fromkeys(models):
        block = np.flatnonzero(np.asarray(models) == model)
        drawn[:, block] = random.permuted(drawn[:, block], axis=1)
    n_beyond = int(((drawn @ x) ** 2 >= observed * (1 - 1e-9)).sum())
    return observed / scale, (1 + n_beyond) / (1 + N_PERMUTATIONS)


def _residuals(values: Floats, policies: Sequence[str]) -> Floats:
    labels = np.asarray(policies)
    left = values.copy()
    for policy in set(policies):
        left[labels == policy] -= values[labels == policy].mean()
    return left


def extremes_p(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float | None:
    """Return the two-sided p that arms of one final-stage policy hold the extreme ranks; None where a side is empty.

    scipy mannwhitneyu(method="exact"); the smallest p of 5 against 5 is 0.008. With ties, where that is not exact, the
    same statistic over all divisions of the arms (drawn with `seed` beyond EXACT_LIMIT of them). Arms whose final-stage
    policy is `mixed` belong to neither side.
    """
    from scipy.stats import mannwhitneyu, rankdata

    n_first, n_all = len(first), len(first) + len(second)
    if not first or not second:
        return None
    values = np.array([*first, *second], float)
    if len(np.unique(values)) == n_all:
        return float(mannwhitneyu(first, second, alternative="two-sided", method="exact").pvalue)
    ranks = rankdata(values)
    centre = n_first * (n_all + 1) / 2
    observed = abs(ranks[:n_first].sum() - centre) - _TIE
    if math.comb(n_all, n_first) <= EXACT_LIMIT:
        sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(n_all), n_first)])
        return float((np.abs(sums - centre) >= observed).mean())
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(ranks, (N_PERMUTATIONS, 1)), axis=1)[:, :n_first].sum(1)
    return float((1 + (np.abs(drawn - centre) >= observed).sum()) / (1 + N_PERMUTATIONS))


def benjamini_hochberg(values: Sequence[float | None]) -> list[float | None]:
    """Return the q-value of each p (statsmodels multipletests, fdr_bh); an undefined p stays None."""
    from statsmodels.stats.multitest import multipletests

    known = [value for value in values if value is not None]
    if not known:
        return list(values)
    adjusted = iter(multipletests(known, method="fdr_bh")[1].tolist())
    return [None if value is None else float(next(adjusted)) for value in values]
