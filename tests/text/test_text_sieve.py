"""The sieve: in a world of known tokens, and on a tiny encoder."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from auditkit.text import sieve, static
from auditkit.text.encode import load_encoder
from auditkit.text.sieve import Sieve, make_sieve
from auditkit.text.static import bags_of, rank_weights, static_vectors, token_table, unit

VOCABULARY, WIDTH, TOPICS, WORDS = 600, 48, 12, 50


@dataclass
class TokenWorld:
    """An encoder whose vector is the sum of its tokens' vectors, bent by each pair of neighbours."""

    name: str = "world"
    source: str = "made up"
    digest: str = "sha256:0"
    fingerprint: str = "world"
    max_tokens: int = 32
    bend: float = 0.1
    n_vocabulary: int = VOCABULARY
    calls: list[str] = field(default_factory=list)

    @property
    def hidden(self) -> NDArray[np.float32]:
        rng = np.random.default_rng(5)
        topics = rng.standard_normal((TOPICS, WIDTH))
        own = rng.standard_normal((VOCABULARY, WIDTH))
        return (own + 0.25 * topics[np.arange(VOCABULARY) // WORDS]).astype(np.float32)

    def token_ids(self, texts: list[str]) -> list[list[int]]:
        return [[int(word) for word in text.split()][: self.max_tokens] for text in texts]

    def token_views(self) -> NDArray[np.float32]:
        self.calls.append("views")
        turned = np.linalg.qr(np.random.default_rng(6).standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
        return np.concatenate([self.hidden, self.hidden @ turned, self.hidden * 2, -self.hidden], axis=1)

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        hidden, vectors = self.hidden, np.zeros((len(texts), WIDTH), np.float32)
        for i, ids in enumerate(self.token_ids(texts)):
            pairs = [hidden[a] * np.roll(hidden[b], 1) for a, b in itertools.pairwise(ids)]
            vectors[i] = hidden[ids].sum(0) + self.bend * np.sum(pairs or [np.zeros(WIDTH)], axis=0)
        return unit(vectors)

    def count_truncated(self, texts: list[str]) -> int:
        return 0


def texts_of(n: int, seed: int) -> list[str]:
    """Return texts of 6 to 15 words, most of them of one topic."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        topic, size = rng.integers(0, TOPICS), rng.integers(6, 16)
        words = np.where(
            rng.random(size) < 0.7, topic * WORDS + rng.integers(0, WORDS, size), rng.integers(0, VOCABULARY, size)
        )
        made.append(" ".join(map(str, words)))
    return made


def reworded(texts: list[str], seed: int) -> list[str]:
    """Return the texts with a fifth of their words replaced and two neighbours swapped."""
    rng = np.random.default_rng(seed)
    made = []
    for text in texts:
        words = [word if rng.random() > 0.2 else str(rng.integers(0, VOCABULARY)) for word in text.split()]
        at = rng.integers(0, len(words) - 1)
        words[at], words[at + 1] = words[at + 1], words[at]
        made.append(" ".join(words))
    return made


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path / "cache"))


def world_sieve(items: list[str], threshold: float = 0.8) -> Sieve:
    world = TokenWorld()
    found, reason = make_sieve(world, items, world.encode(items), threshold)
    assert found is not None, reason
    return found


# ---------------------------------------------------------------- what it keeps


def test_it_keeps_nearly_all_pairs_and_leaves_out_most_rows() -> None:
    world, items = TokenWorld(), texts_of(300, 1)
    items += reworded(items, 10)
    rows = texts_of(2000, 2) + reworded(items, 3)
    made = world_sieve(items)
    scores = made.scores(rows)
    is_pair = world.encode(rows) @ world.encode(items).T >= 0.8
    assert scores.shape == (len(rows), len(items))
    assert is_pair.sum() > 100
    assert (scores[is_pair] >= made.cut).mean() >= 0.98
    assert (scores.max(axis=1) < made.cut)[:2000].mean() > 0.6


def test_the_cut_is_the_score_that_the_kept_share_of_pairs_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    cosines = np.linspace(0.5, 0.99, 2000, dtype=np.float32)
    scores = cosines + np.resize(np.array([0.1, -0.1], np.float32), 2000)
    at_least = scores[cosines >= 0.8]
    monkeypatch.setattr(sieve, "MIN_PAIRS", 50)
    cut, found = sieve._calibrated(cosines, scores, 0.8)
    assert found.n_pairs == len(at_least)
    assert found.n_kept / found.n_pairs >= sieve.KEPT
    assert (at_least >= cut).mean() == pytest.approx(sieve.KEPT, abs=0.005)
    assert found.lowest_cosine >= 0.8


def test_pairs_below_the_threshold_stand_in_raised_by_their_distance() -> None:
    cosines = np.linspace(0.0, 0.6, 400, dtype=np.float32)
    cut, found = sieve._calibrated(cosines, cosines * np.float32(0.5) + np.float32(0.2), 0.8)
    # The line is exact here: every pair says that a pair at 0.8 scores 0.6.
    assert cut == pytest.approx(0.6, abs=0.001)
    assert found.n_pairs == sieve.MIN_PAIRS
    assert found.lowest_cosine == pytest.approx(cosines[100], abs=1e-6)


def test_order_and_company_of_rows_change_no_score() -> None:
    items, rows = texts_of(60, 4), texts_of(40, 5)
    made = world_sieve(items)
    together = made.scores(rows)
    for i in (0, 7, 39):
        assert made.scores([rows[i]])[0] == pytest.approx(together[i], abs=1e-5)


def test_the_order_of_items_does_not_change_the_cut() -> None:
    items = texts_of(60, 6)
    assert world_sieve(items).cut == pytest.approx(world_sieve(items[::-1]).cut, abs=1e-4)


def test_texts_without_tokens_score_low() -> None:
    made = world_sieve(texts_of(60, 7))
    assert np.isfinite(made.scores(["", "1 2 3"])).all()


def test_a_sieve_pickles(tmp_path: Path) -> None:
    made = world_sieve(texts_of(60, 8))
    again = pickle.loads(pickle.dumps(made))
    rows = texts_of(5, 9)
    assert again.scores(rows).tolist() == made.scores(rows).tolist()
    assert again.cut == made.cut


# ---------------------------------------------------------------- where there is none


def test_without_a_vocabulary_or_with_a_huge_one_it_says_so() -> None:
    class Opaque:
        encode = count_truncated = None

    items = texts_of(30, 1)
    vectors = TokenWorld().encode(items)
    assert make_sieve(Opaque(), items, vectors, 0.8) == (None, "this encoder cannot be distilled")  # type: ignore[arg-type]
    huge = TokenWorld(n_vocabulary=static.MAX_VOCABULARY + 1)
    assert make_sieve(huge, items, vectors, 0.8) == (None, "this encoder cannot be distilled")


@pytest.mark.parametrize("n", [0, 1, 9])
def test_with_too_few_items_it_says_so(n: int) -> None:
    items = texts_of(30, 1)[:n]
    found = make_sieve(TokenWorld(), items, TokenWorld().encode(items), 0.8)
    assert found == (None, "fewer than 10 item texts to calibrate on")


def test_ten_equal_items_are_no_crash() -> None:
    world_sieve([f"{i} {i} {i}" for i in range(10)])


# ---------------------------------------------------------------- the static model


def test_the_table_is_made_once_and_kept() -> None:
    world = TokenWorld()
    first, second = token_table(world), token_table(world)
    assert world.calls == ["views"]
    assert first.tolist() == second.tolist()
    assert first.dtype == np.float32
    assert first.shape == (VOCABULARY, 4 * WIDTH)


def test_a_broken_table_is_made_again(tmp_path: Path) -> None:
    world = TokenWorld()
    first = token_table(world)
    (path,) = (tmp_path / "cache" / "static").iterdir()
    path.write_bytes(b"broken")
    assert token_table(world).tolist() == first.tolist()
    assert world.calls == ["views", "views"]


def test_without_a_writable_cache_it_is_made_each_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    world = TokenWorld()
    token_table(world)
    token_table(world)
    assert world.calls == ["views", "views"]


def test_products_of_the_table_are_those_of_the_scaled_views() -> None:
    views = TokenWorld().token_views()
    parts = np.split(views - views.mean(0), 4, axis=1)
    scaled = np.concatenate([part / np.sqrt(np.square(part).sum(1).mean()) for part in parts], axis=1)
    table = token_table(TokenWorld())
    assert table[:20] @ table[:20].T == pytest.approx(scaled[:20] @ scaled[:20].T, abs=1e-3)


def test_a_text_is_the_weighted_mean_of_its_tokens() -> None:
    world = TokenWorld()
    table, weights = token_table(world), rank_weights(VOCABULARY)
    found = static_vectors(table, bags_of(world, ["3 5 5", "", "7"]))
    expected = weights[3] * table[3] + 2 * weights[5] * table[5]
    assert found[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)
    assert found[1].tolist() == [0.0] * table.shape[1]
    assert np.linalg.norm(found[2]) == pytest.approx(1, abs=1e-5)


def test_frequent_tokens_weigh_less() -> None:
    weights = rank_weights(30_522)
    assert (np.diff(weights) > 0).all()
    # 1 / 2 / (H(30523) - 1) of all words, by Zipf's law.
    share = 0.5 / (np.log(30_523) + 0.57722 - 1)
    assert weights[0] == pytest.approx(1e-3 / (1e-3 + share), rel=1e-3)


@pytest.mark.embed
def test_a_sentence_encoder_is_taken_apart(tiny_model: Path) -> None:
    encoder = load_encoder(str(tiny_model))
    assert static.as_token_encoder(encoder) is encoder
    assert static.as_token_encoder(pickle.loads(pickle.dumps(encoder))) is encoder
    views = encoder.token_views()  # type: ignore[attr-defined]
    assert views.shape == (14, 4 * 16)
    assert views.dtype == np.float32
    bread = 9
    alone = encoder.encode(["bread"])[0]
    assert views[bread, :16] / np.linalg.norm(views[bread, :16]) == pytest.approx(alone, abs=1e-5)
    assert encoder.token_ids(["the Bread the", "", "cat " * 20]) == [[12, 9, 12], [], [10] * 12]  # type: ignore[attr-defined]
