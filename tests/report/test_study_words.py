from __future__ import annotations

import math

import pytest
import study_fixtures as fixtures

from auditkit.report import study_words as words
from auditkit.study_records.results import Estimate
from auditkit.study_records.settings import Stage, Teacher


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.9654, "0.965"),
        (0.0004, "< 0.001"),
        (-0.0004, "> -0.001"),
        (0.9996, "> 0.999"),
        (-1e-17, "0.000"),
        (23.44, "23.4"),
        (-0.5, "-0.500"),
        (1082, "1,082"),
    ],
)
def test_a_number_is_never_rounded_to_nought_or_one(x: float | None, text: str) -> None:
    assert words.number(x) == text


@pytest.mark.parametrize(
    ("p", "text"), [(None, "-"), (0.0, "< 0.001"), (0.0004, "< 0.001"), (0.0286, "0.029"), (1.0, "1.000")]
)
def test_a_p_is_never_nought(p: float | None, text: str) -> None:
    assert words.probability(p) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (6144 / 22_713_986, "0.027 %"),
        (0.0033, "0.33 %"),
        (1.0, "100 %"),
        (0.9968, "99.68 %"),
        (0.0, "0 %"),
        (None, "-"),
    ],
)
def test_a_share_of_parameters_keeps_two_digits(x: float | None, text: str) -> None:
    assert words.share(x) == text


def test_an_undefined_estimate_stands_with_its_n() -> None:
    assert words.estimate(Estimate(None, n=12)) == "-, n 12"
    assert words.estimate(Estimate(0.5, 0.25, 0.75, 1200)) == "0.500 [0.250, 0.750], n 1,200"
    assert words.interval(Estimate(0.5, None, 1.5)) == "0.500 [-, 1.500]"
    assert words.interval(Estimate(0.5)) == "0.500"


def test_n_stands_in_the_header_where_it_is_one() -> None:
    assert words.columns("f", [Estimate(0.5, n=7), Estimate(None, n=7)]) == ("f, n 7", ["0.500", "-"])
    assert words.columns("f", [Estimate(0.5, n=7), Estimate(None, n=8)]) == ("f", ["0.500, n 7", "-, n 8"])


def test_a_stage_says_its_teacher() -> None:
    assert (
        words.stage(Stage("block", Teacher(arm="A", temperature=2, weight=0.7)))
        == "block + teacher A (T 2, weight 0.7)"
    )
    soft = Stage("", Teacher(column="p_guard", temperature=1, weight=1, is_hardened=True))
    assert words.stage(soft) == "soft labels only + teacher p_guard (T 1, weight 1, hardened)"


def test_seeds_are_averaged_and_an_estimate_of_the_arm_goes_before() -> None:
    table = words.measured(fixtures.study())
    seeds = words.pick(table, "A small", "agreement_a", "native")
    assert seeds.value == pytest.approx((0.838 + 0.842 + 0.846) / 3)
    assert (seeds.n, seeds.low) == (fixtures.N_D, None)
    own = words.pick(table, "A small", "auroc_concordant")
    assert (own.value, own.low, own.high) == (0.941, 0.941 - 0.012, 0.941 + 0.011)


def test_a_mean_over_seeds_is_undefined_where_one_seed_is() -> None:
    result = fixtures.study()
    is_one = (
        (result.metrics["seed"] == 2)
        & (result.metrics["metric"] == "agreement_a")
        & (result.metrics["arm"] == "A small")
    )
    frame = result.metrics.with_columns(
        value=result.metrics["value"].zip_with(~is_one.fill_null(False), result.metrics["value"] * None)
    )
    table = words.measured(fixtures.study(metrics=frame))
    assert words.pick(table, "A small", "agreement_a", "native") == Estimate(None, n=fixtures.N_D)


def test_the_mean_of_a_thing_not_measured_is_undefined() -> None:
    assert words.pick(words.measured(fixtures.study()), "A small", "nonsense") == Estimate(None)


def test_a_value_stands_for_each_seed_unless_all_have_one() -> None:
    assert words.per_seed(["0.35", "0.41", "0.35"]) == "0.35; 0.41; 0.35"
    assert words.per_seed(["0.50", "0.50"]) == "0.50"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("acc_a", "accuracy, harm"),
        ("brier_b", "Brier score, block"),
        ("acc_c", "accuracy on C"),
        ("f10", "flag rate on D10"),
        ("over_refusal_a", "over-refusal, harm"),
        ("flag_rate", "flag rate"),
    ],
)
def test_a_metric_is_named_in_words(name: str, text: str) -> None:
    assert words.metric(name, fixtures.settings()) == text
