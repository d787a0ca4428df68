"""The gate: exactly at the share, review, baselines, waivers and their last day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from auditkit.errors import InputError, UsageError
from auditkit.records import AuditReport
from auditkit.report import as_json, gate, waivers

TODAY = date(2026, 3, 1)
Make = Callable[..., AuditReport]


def judge(report: AuditReport, *fail_over: str, **more: object) -> gate.GateResult:
    return gate.evaluate(report, fail_over=fail_over, today=TODAY, **more)  # type: ignore[arg-type]


# ---------------------------------------------------------------- shares


def test_without_a_gate_nothing_trips(make_gate_report: Make) -> None:
    assert judge(make_gate_report({0: [1]})) == gate.GateResult(False, n_counted=1)


@pytest.mark.parametrize(
    ("n_found", "share", "tripped"),
    [(1, "0.05", False), (2, "0.05", True), (1, "0.049999", True), (20, "1", False), (0, "0", False), (1, "0", True)],
)
def test_trips_over_the_share_and_not_at_it(n_found: int, share: str, tripped: bool, make_gate_report: Make) -> None:
    report = make_gate_report({item: [item] for item in range(n_found)})
    assert judge(report, share).tripped is tripped


def test_counts_are_compared_not_floats(make_gate_report: Make) -> None:
    # 0.07 * 100 is 7.000000000000001 as floats, 0.29 * 100 is 28.999999999999996
    for share, n in (("0.07", 7), ("0.29", 29), (".58", 58), ("2.9e-1", 29)):
        at = make_gate_report({item: [0] for item in range(n)}, n_items=100)
        over = make_gate_report({item: [0] for item in range(n + 1)}, n_items=100)
        assert (judge(at, share).tripped, judge(over, share).tripped) == (False, True)


def test_the_reason_has_the_counts(make_gate_report: Make) -> None:
    report = make_gate_report({3: [7], 4: [7]})
    assert judge(report, "0.05").reasons == ("b: 2 of 20 items contaminated (10.0 %), over 0.05",)
    assert judge(report, "0").reasons == ("b: 2 of 20 items contaminated (10.0 %), none is allowed",)


def test_a_named_share_goes_before_the_general_one(make_gate_report: Make) -> None:
    report = make_gate_report({3: [7], 4: [7]})
    assert not judge(report, "0", "b=0.1").tripped
    assert judge(report, "1", "b=0.09").tripped


@pytest.mark.parametrize(
    "share", ["nan", "1.5", "-0.1", "inf", "five", "", "5%", "1/3", "b=nan", "b=", "1e-999999999", "1_0"]
)
def test_shares_outside_0_to_1_are_refused(share: str, make_gate_report: Make) -> None:
    with pytest.raises(UsageError, match=r"expected a number in \[0, 1\]"):
        judge(make_gate_report({}), share)


def test_names_and_doubles_are_refused(make_gate_report: Make) -> None:
    report = make_gate_report({})
    with pytest.raises(UsageError, match=r"no such benchmark in this audit .*audited: b"):
        judge(report, "xstest=0.1")
    with pytest.raises(UsageError, match="no benchmark before '='"):
        judge(report, "=0.1")
    with pytest.raises(UsageError, match="a second share for b"):
        judge(report, "b=0.1", "b=0.2")
    with pytest.raises(UsageError, match="a second share for every benchmark"):
        judge(report, "0.1", "0.2")


def test_the_nearest_name_is_offered(make_report: Make) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'or-bench-hard'\?"):
        judge(make_report(), "orbench-hard=0.1")


# ---------------------------------------------------------------- review


def test_review_counts_only_where_asked(make_gate_report: Make) -> None:
    report = make_gate_report({0: [1]}, {0: [2], 5: [3]})
    assert not judge(report, "0.05").tripped
    assert judge(report, "0.05", fail_on="review").reasons == (
        "b: 2 of 20 items contaminated or in review (10.0 %), over 0.05",
    )
    assert not judge(report, "0.1", fail_on="review").tripped


def test_review_alone_trips_on_any(make_gate_report: Make) -> None:
    assert judge(make_gate_report({}, {5: [3]}), fail_on="review").tripped
    assert not judge(make_gate_report({}), fail_on="review").tripped


def test_unknown_verdicts_are_refused(make_gate_report: Make) -> None:
    with pytest.raises(UsageError, match="expected contaminated or review; did you mean 'review'"):
        judge(make_gate_report({}), fail_on="reviews")


# ---------------------------------------------------------------- baseline


def test_only_items_new_since_the_baseline_count(make_gate_report: Make, tmp_path: Path) -> None:
    as_json.write(make_gate_report({0: [1], 1: [1]}), tmp_path / "old")
    same, more = make_gate_report({0: [9], 1: [9]}), make_gate_report({0: [1], 1: [1], 2: [1]})
    for path in (tmp_path / "old", tmp_path / "old" / "report.json", str(tmp_path / "old")):
        assert not judge(same, baseline=path).tripped
        assert judge(more, baseline=path).reasons == (
            "b: 1 of 20 items contaminated and new since the baseline (5.0 %), none is allowed",
        )
        assert not judge(more, "0.05", baseline=path).tripped
        assert judge(more, "0.04", baseline=path).tripped


def test_items_are_known_by_digest_not_by_place(make_gate_report: Make) -> None:
    old = make_gate_report({0: [1]}, digests={0: "xxh:moved"})
    assert not judge(make_gate_report({7: [1]}, digests={7: "xxh:moved"}), baseline=old).tripped
    assert judge(make_gate_report({0: [1]}), baseline=old).tripped


def test_items_without_a_digest_are_never_known(make_gate_report: Make) -> None:
    for digest in (None, ""):
        old = make_gate_report({0: [1]}, digests={0: digest})
        assert judge(make_gate_report({0: [1]}, digests={0: digest}), baseline=old).tripped


def test_review_that_turns_contaminated_is_new(make_gate_report: Make) -> None:
    old = make_gate_report({}, {0: [1], 1: [1]})
    assert not judge(make_gate_report({}, {0: [1]}), fail_on="review", baseline=old).tripped
    assert judge(make_gate_report({0: [1]}), fail_on="review", baseline=old).tripped
    assert judge(make_gate_report({0: [1]}), baseline=old).tripped


def test_a_baseline_needs_its_items_and_no_more(make_gate_report: Make, tmp_path: Path) -> None:
    as_json.write(make_gate_report({0: [1]}), tmp_path)
    (tmp_path / "matches.parquet").unlink()
    assert not judge(make_gate_report({0: [1]}), baseline=tmp_path).tripped
    (tmp_path / "items.parquet").unlink()
    with pytest.raises(InputError, match=r"items\.parquet: No such file"):
        judge(make_gate_report({}), baseline=tmp_path)


def test_an_audit_is_no_baseline_of_itself(make_gate_report: Make, tmp_path: Path) -> None:
    as_json.write(make_gate_report({0: [1]}), tmp_path)
    with pytest.raises(UsageError, match="is this audit itself"):
        judge(as_json.load(tmp_path), baseline=tmp_path)
    read_before = gate.prepare(baseline=tmp_path)  # of the earlier audit in the same folder
    newer = make_gate_report({0: [1], 1: [1]}, folder=tmp_path)
    assert gate.decide(newer, read_before, TODAY).tripped


def test_differences_of_the_baseline_are_noted(make_gate_report: Make, make_report: Make) -> None:
    result = judge(make_gate_report({}), baseline=make_report(rules_version="v0"))
    assert result.notes == (
        "baseline memory has no benchmark b: each of its items found counts as new",
        "baseline memory was made with v0, this audit with v1",
    )


# ---------------------------------------------------------------- waivers


def waiver_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "waivers.toml"
    path.write_text(text, encoding="utf-8")
    return path


def entry(**changes: str | None) -> str:
    values = {"benchmark": '"b"', "item": "0", "reason": '"a proverb"', "expires": "2026-03-01"} | changes
    return "[[waiver]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)


@pytest.mark.parametrize(
    "identity",
    [{}, {"item": None, "item_id": '"id-0"'}, {"item": None, "digest": '"xxh:0"'}, {"pool": '"train"', "row": "4"}],
)
def test_a_waived_item_does_not_count_and_is_named(identity: dict, make_gate_report: Make, tmp_path: Path) -> None:
    result = judge(make_gate_report({0: [4]}), "0", waivers=waiver_file(tmp_path, entry(**identity)))
    assert (result.tripped, result.n_waived, result.n_counted, result.unused) == (False, 1, 0, ())
    (line,) = result.waived
    assert line.startswith("b item 0: waiver 1 (b ")
    assert line.endswith("; reason: a proverb; until 2026-03-01)")


def test_a_waiver_counts_on_its_last_day_and_not_after(make_gate_report: Make, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, entry())
    report = make_gate_report({0: [4]})
    on = gate.evaluate(report, fail_over=["0"], waivers=path, today=date(2026, 3, 1))
    after = gate.evaluate(report, fail_over=["0"], waivers=path, today=date(2026, 3, 2))
    assert (on.tripped, on.n_waived, on.expired) == (False, 1, ())
    assert (after.tripped, after.n_waived) == (True, 0)
    assert after.expired == ("waiver 1 (b item 0; reason: a proverb; until 2026-03-01): expired, no longer counts",)


def test_a_waiver_of_one_row_leaves_the_others(make_gate_report: Make, tmp_path: Path) -> None:
    one = entry(pool='"train"', row="4")
    two = one + entry(pool='"train"', row="5")
    report = make_gate_report({0: [4, 5]})
    assert judge(report, "0", waivers=waiver_file(tmp_path, one)).tripped
    assert not judge(report, "0", waivers=waiver_file(tmp_path, two)).tripped


def test_review_rows_need_a_waiver_where_review_counts(make_gate_report: Make, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, entry(pool='"train"', row="4"))
    report = make_gate_report({0: [4]}, {0: [5]})
    assert not judge(report, "0", waivers=path).tripped
    assert judge(report, "0", waivers=path, fail_on="review").tripped


def test_waivers_that_match_nothing_are_named(make_gate_report: Make, tmp_path: Path) -> None:
    result = judge(make_gate_report({0: [4]}), "0", waivers=waiver_file(tmp_path, entry(benchmark='"other"')))
    assert result.tripped
    assert result.unused == ("waiver 1 (other item 0; reason: a proverb; until 2026-03-01)",)


def test_waivers_join_with_a_baseline(make_gate_report: Make, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, entry() + entry(item="1"))
    result = judge(make_gate_report({0: [4], 1: [4]}), baseline=make_gate_report({0: [4]}), waivers=path)
    assert (result.tripped, result.n_waived, result.unused) == (False, 1, ())


def test_an_empty_file_waives_nothing(make_gate_report: Make, tmp_path: Path) -> None:
    assert judge(make_gate_report({0: [4]}), "0", waivers=waiver_file(tmp_path, "")).tripped


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry(reason=None), "waiver 1: no reason"),
        (entry(reason='" "'), "waiver 1: reason is ' ', expected a text"),
        (entry(expires=None), "waiver 1: no expires"),
        (entry(benchmark=None), "waiver 1: no benchmark"),
        (entry() + entry(item=None), "waiver 2: names no item"),
        (entry(expires='"soon"'), "waiver 1: expires is 'soon', expected a date such as"),
        (entry(expires="2026-03-01T00:00:00"), "waiver 1: expires is datetime"),
        (entry(expires="true"), "waiver 1: expires is True"),
        (entry(item='"0"'), "waiver 1: item is '0', expected a whole number"),
        (entry(item="-1"), "waiver 1: item is -1"),
        (entry(item="true"), "waiver 1: item is True"),
        (entry(item=str(2**63)), "waiver 1: item is 9223372036854775808"),
        (entry(row="3"), "waiver 1: row without pool"),
        (entry(reson='"x"'), r"waiver 1: unknown key 'reson'; did you mean 'reason'\?"),
        ("[waiver]\nitem = 1\n", "a 'waiver' that is no list"),
        ("waiver = [1]", "a 'waiver' that is no list"),
        ("other = 1", "key 'other', expected only"),
        ("[[waiver", "not TOML"),
    ],
)
def test_broken_waiver_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, text)
    with pytest.raises(UsageError, match=message) as caught:
        waivers.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_waiver_file_that_is_missing_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        waivers.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not TOML"):
        waivers.load(tmp_path / "bytes.toml")


def test_dates_may_be_text(tmp_path: Path) -> None:
    (loaded,) = waivers.load(waiver_file(tmp_path, entry(expires='"2026-03-01"')))
    assert loaded.expires == date(2026, 3, 1)


def test_hostile_waivers_are_shown(make_gate_report: Make, tmp_path: Path) -> None:
    path = waiver_file(tmp_path, entry(reason=r'"x\u001b[2J\u202e"'))
    (line,) = judge(make_gate_report({0: [4]}), "0", waivers=path).waived
    assert "x<U+001B>[2J<U+202E>" in line
