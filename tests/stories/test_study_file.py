"""A study file: the bundled one is ten arms, a wrong one is one line that names the place."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auditkit.errors import UsageError
from auditkit.stories.arms import MIXED, descendants, order_arms, origins, with_controls
from auditkit.stories.study_file import example, load_study, parse_study
from auditkit.study_records.settings import Arm, Provenance, Stage, StudySettings, Teacher

Values = dict[str, Any]


@pytest.fixture
def values() -> Values:
    return tomllib.loads(example())


def parsed(values: Values) -> StudySettings:
    return parse_study(values, "study.toml", Path("there"))


# ---------------------------------------------------------------- the bundled file


def test_the_bundled_file_is_the_ten_arms(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(example(), encoding="utf-8")
    study = load_study(tmp_path / "study.toml")
    arms = {arm.name: arm for arm in study.arms}
    assert len(arms) == len(study.arms) == 10
    assert [policy.name for policy in study.policies] == ["harm", "block"]
    assert study.seeds == (1, 2, 3)
    assert sorted((arm.final_policy, arm.model) for arm in study.arms) == [
        *[("block", "large")] * 2, *[("block", "small")] * 2, *[("harm", "large")] * 2, *[("harm", "small")] * 2,
        *[(MIXED, "small")] * 2,
    ]  # fmt: skip
    assert [stage.labels for stage in arms["B then A small"].stages] == ["block", "harm"]
    student = arms["hard B, teacher A small"].stages[-1]
    assert (student.labels, student.teacher) == ("block", Teacher(arm="A large", temperature=2.0, weight=0.7))


def test_paths_are_relative_to_the_file_and_names_stay(values: Values) -> None:
    values["benchmarks"].append({"name": "xstest", "class": "mixed"})
    values["benchmarks"].append({"name": "renamed", "class": "mixed", "path": "/elsewhere/eval.csv"})
    values["pool"]["path"] = ["pool.jsonl", "/elsewhere/more", "hf:org/name"]
    study = parsed(values)
    assert study.pool == ("there/pool.jsonl", "/elsewhere/more", "hf:org/name")
    specs = [benchmark.spec for benchmark in study.benchmarks]
    assert specs == [
        "benign-requests=there/benchmarks/benign.jsonl",
        "harmful-requests=there/benchmarks/harmful.jsonl",
        "xstest",
        "renamed=/elsewhere/eval.csv",
    ]


def test_an_arm_from_another_has_its_stages_first(values: Values) -> None:
    values["arms"].append(
        {"name": "twice", "from": "A large patched to B", "final_policy": "harm", "patch": {"labels": "harm"}}
    )
    arms = {arm.name: arm for arm in parsed(values).arms}
    parent, patched, twice = arms["A large"], arms["A large patched to B"], arms["twice"]
    assert patched.stages[:1] == parent.stages
    assert patched.parent == "A large"
    assert twice.stages[:2] == patched.stages
    assert twice.model == "large"
    assert patched.stages[1].trainable.layers == (2, 3, 4, 5)
    # What a patch does not say is the default of all stages.
    assert twice.stages[2].learning_rate == values["training"]["learning_rate"]


def test_labels_are_mapped_and_null_is_unknown(values: Values) -> None:
    values["policies"]["block"]["values"] = {"Blocked": 1, "passed": 0, "unsure": "null"}
    assert parsed(values).policies[1].values == {"blocked": 1, "passed": 0, "unsure": None}


# ---------------------------------------------------------------- wrong input


def at(values: Values, path: str) -> tuple[Any, Any]:
    """Return the table that holds a place, and its key there: "arms.0.model"."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        values = values[step]
    return values, last


def put(path: str, value: Any) -> Callable[[Values], None]:
    def change(values: Values) -> None:
        table, key = at(values, path)
        table[key] = value

    return change


def drop(path: str) -> Callable[[Values], None]:
    def change(values: Values) -> None:
        table, key = at(values, path)
        del table[key]

    return change


def twice(path: str) -> Callable[[Values], None]:
    return lambda values: values[path].append(copy.deepcopy(values[path][0]))


def cycle(values: Values) -> None:
    teach = {"labels": "harm", "teacher": {"arm": "B large"}}
    values["arms"][2] |= {"stages": [teach], "final_policy": "mixed"}
    values["arms"][3] |= {"stages": [{"labels": "block", "teacher": {"arm": "A large"}}], "final_policy": "mixed"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("seed", 1), "study.toml: unknown key 'seed'; did you mean 'seeds'?"),
        (put("pool.sourse", "x"), "study.toml.pool: unknown key 'sourse'; did you mean 'source'?"),
        (put("training.epoch", 1), "study.toml.training: unknown key 'epoch'"),
        (put("training.labels", "harm"), "study.toml.training.labels: labels belong to a stage of an arm"),
        (put("training.teacher", {"arm": "A large"}), "study.toml.training.teacher: teacher belong to a stage"),
        (put("arms.0.stages.0.rate", 1), "study.toml.arms[1].stages[1]: unknown key 'rate'"),
        (put("arms.8.patch.rate", 1), "study.toml.arms[9].patch: unknown key 'rate'"),
        (put("arms.8.stages", []), "study.toml.arms[9]: unknown key 'stages'"),
        (put("arms.6.stages.0.teacher.temp", 1), "study.toml.arms[7].stages[1].teacher: unknown key 'temp'"),
        (put("optimizer.name", "sgd"), "study.toml.optimizer.name is 'sgd', expected one of adamw"),
        (put("trainer", "heads"), "study.toml.trainer is 'heads', expected one of finetune, head; did you mean 'head'"),
        (drop("name"), "study.toml: 'name' is missing"),
        (drop("pool"), "study.toml: 'pool' is missing"),
        (put("pool.path", []), "study.toml.pool.path is [], expected a text or a list of texts"),
        (put("pool", "pool.jsonl"), "study.toml.pool is 'pool.jsonl', expected a table"),
        (drop("arms"), "study.toml: 'arms' is missing"),
        (put("arms", []), "study.toml.arms is [], expected a list of tables"),
        (drop("policies.block"), "study.toml.policies: 1 policies, expected exactly two"),
        (put("policies.third", {"column": "x"}), "study.toml.policies: 3 policies, expected exactly two"),
        (drop("policies.harm.column"), "study.toml.policies.harm: 'column' is missing"),
        (put("policies.block.column", "harm"), "both policies read the column 'harm'"),
        (put("policies.block.values", {"x": 2}), "study.toml.policies.block.values: 2, expected 0, 1 or \"null\""),
        (put("policies.block.values", {"x": True}), "study.toml.policies.block.values: True, expected 0, 1"),
        (drop("models.small"), "study.toml.arms[1].model is 'small', expected one of large"),
        (put("benchmarks.0.class", "safe"), "study.toml.benchmarks[1].class is 'safe', expected one of harmful"),
        (twice("benchmarks"), "study.toml: two benchmarks have one name"),
        (twice("arms"), "study.toml.arms[11]: two arms are called 'A small'"),
        (put("seeds", [1, 2, 1]), "study.toml: seeds is [1, 2, 1], expected different whole numbers"),
        (put("seeds", []), "study.toml: seeds is [], expected different whole numbers"),
        (put("seeds", [1.5]), "study.toml.seeds is [1.5], expected a list of whole numbers"),
        (put("arms.0.stages.0.share", float("nan")), "study.toml.arms[1].stages[1].share is nan, expected a number"),
        (put("arms.0.stages.0.share", 1.5), "study.toml.arms[1].stages[1].share is 1.5, expected a number from 1e-06"),
        (put("arms.0.stages.0.epochs", 0), "study.toml.arms[1].stages[1].epochs is 0, expected a number from 0.001"),
        (put("arms.0.stages.0.labels", "hram"), "labels is 'hram', expected a policy; did you mean 'harm'?"),
        (put("arms.0.stages.0", {}), "study.toml.arms[1].stages[1]: a stage needs labels, a teacher, or both"),
        (put("arms.8.patch", {}), "study.toml.arms[9].patch: a stage needs labels, a teacher, or both"),
        (put("arms.8.from", "A larg"), "from is 'A larg', expected an arm above this one; did you mean 'A large'?"),
        (put("arms.6.stages.0.teacher.arm", "Z"), "arm 'hard B, teacher A small' has the teacher 'Z', which is no arm"),
        (put("arms.6.stages.0.teacher.model", "x"), "teacher: expected exactly one of arm, model or column"),
        (put("arms.6.stages.0.teacher.revision", "v1"), "teacher.revision is 'v1', but only a model has one"),
        (put("arms.6.stages.0.teacher.weight", 1.1), "teacher.weight is 1.1, expected a number from 0 to 1"),
        (cycle, "study.toml: arms: teachers form a cycle: A large <- B large <- A large"),
        (put("arms.0.final_policy", "safe"), "study.toml.arms[1].final_policy is 'safe', expected one of harm, block"),
        (put("arms.0.final_policy", "block"), "arm 'A small' has final_policy 'block', but its last stage's labels"),
        (put("arms.0.final_policy", "mixed"), "arm 'A small' is mixed, but its last stage has no teacher"),
        (put("arms.6.final_policy", "block"), "has final_policy 'block', expected 'mixed': its last stage's labels"),
        (put("arms.6.stages.0.teacher.arm", "B large"), "has final_policy 'mixed', expected 'block'"),
        (put("split.test", 0.2), "study.toml.split: train + dev + test is 0.8 + 0.1 + 0.2, expected three shares"),
        (put("split.test", 0), "study.toml.split: train + dev + test is 0.8 + 0.1 + 0, expected three shares"),
        (put("evaluation.fpr", -0.1), "study.toml.evaluation.fpr is -0.1, expected a number from 0 to 1"),
        (put("training.trainable.part", "lora2"), "study.toml.training.trainable.part is 'lora2', expected one of"),
        (put("training.trainable.rank", 0), "study.toml.training.trainable.rank is 0, expected a whole number of at"),
        (put("provenance", []), "study.toml.provenance is [], expected a list of tables"),
        (put("provenance", [{"of": "small"}]), "study.toml.provenance[1]: 'pools' is missing"),
        (put("provenance", [{"of": "smal", "pools": "x"}]), "of is 'smal', expected a model's name, or the model or"),
        (put("provenance", [{"of": "A large", "pools": "x"}]), "study.toml.provenance[1].of is 'A large', expected"),
        (put("provenance", [{"of": "small", "pools": "x"}] * 2), "study.toml.provenance[2]: 'small' stands there twi"),
        (put("provenance", [{"of": "small", "pools": "x", "p": 1}]), "study.toml.provenance[1]: unknown key 'p'"),
        (put("evaluation.leaked_items", "drop"), "leaked_items is 'drop', expected one of exclude, keep"),
        (put("controls", 1), "study.toml.controls is 1, expected true or false"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_that_names_the_place(
    values: Values, change: Callable[[Values], None], expected: str
) -> None:
    change(values)
    with pytest.raises(UsageError) as caught:
        parsed(values)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_model_is_too_few(values: Values) -> None:
    del values["models"]["small"]
    values["arms"] = [arm for arm in values["arms"] if arm.get("model") != "small"]
    with pytest.raises(UsageError, match="models has 1, expected two scales or more"):
        parsed(values)


def test_one_arm_is_too_few(values: Values) -> None:
    values["arms"] = values["arms"][:1]
    with pytest.raises(UsageError, match="arms has 1, expected two or more"):
        parsed(values)


@pytest.mark.parametrize(("content", "expected"), [(b"a = [", "is not TOML"), (b"\xff\xfe", "is not TOML")])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        load_study(tmp_path / "study.toml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            load_study(path)


# ---------------------------------------------------------------- earlier pools

GUARD = {"labels": "block", "teacher": {"model": "org/guard", "revision": "v1"}}


def test_provenance_is_of_a_base_model_or_an_outside_teacher(values: Values) -> None:
    values["arms"][0] |= {"stages": [GUARD], "final_policy": "mixed"}
    values["arms"][1]["stages"] = [{"labels": "block", "teacher": {"column": "p"}}]
    values["evaluation"]["leaked_items"] = "keep"
    values["provenance"] = [
        {"of": "small", "pools": "seen.jsonl"}, {"of": "org/guard", "pools": ["a", "hf:b"], "text": ["prompt"]},
        {"of": "p", "pools": ["/c"]},
    ]  # fmt: skip
    study = parsed(values)
    assert study.provenance == (
        Provenance("small", ("there/seen.jsonl",)),
        Provenance("org/guard", ("there/a", "hf:b"), ("prompt",)),
        Provenance("p", ("/c",)),
    )
    assert study.leaked_items == "keep"
    assert study.arms[0].stages[0].teacher == Teacher(model="org/guard", revision="v1")
    assert origins(study) == {"small": "base model", "large": "base model", "org/guard": "teacher", "p": "teacher"}


def test_what_a_teacher_has_seen_reaches_the_students_of_its_students(values: Values) -> None:
    values["arms"][2] |= {"stages": [GUARD], "final_policy": "mixed"}
    values["arms"][6]["final_policy"] = "mixed"
    study = parsed(values)
    # "A large" is taught by the guard, teaches one student, and is the parent of a patched arm.
    assert set(descendants(study.arms, "org/guard")) == {"A large", "hard B, teacher A small", "A large patched to B"}
    assert set(descendants(study.arms, "large")) == {
        *(arm.name for arm in study.arms if arm.model == "large"), "hard B, teacher A small", "hard A, teacher B small",
    }  # fmt: skip


# ---------------------------------------------------------------- controls and order


def test_controls_are_added_for_every_student(values: Values) -> None:
    values["controls"] = True
    study = parsed(values)
    added = [arm for arm in study.arms if arm.control]
    assert len(study.arms) - len(added) == 10
    assert {arm.parent for arm in added} == {"hard B, teacher A small", "hard A, teacher B small"}
    student = "hard B, teacher A small"
    mine = {arm.name: arm for arm in added if arm.parent == student}
    found = {name.removeprefix(student).strip(): (arm.control, arm.final_policy) for name, arm in mine.items()}
    assert found == {
        "[shuffled]": ("shuffled", "block"),
        "[hardened]": ("hardened", MIXED),
        "[same_policy]": ("same_policy", "block"),
        "[dose weight 0.25]": ("dose", MIXED),
        "[dose weight 1.0]": ("dose", MIXED),
        "[dose T 1.0]": ("dose", MIXED),
        "[dose T 4.0]": ("dose", MIXED),
    }
    teachers = {name: arm.stages[-1].teacher for name, arm in mine.items()}
    same = teachers[f"{student} [same_policy]"]
    assert same is not None
    assert same.arm == "B large"
    assert all(arm.stages[-1].labels == "block" for arm in added if arm.parent == student)
    # Controls of controls would have no end.
    assert with_controls(study) == study or len(with_controls(study).arms) == len(study.arms) + len(added)
    order_arms(study.arms)


def arm(name: str, teacher: str = "") -> Arm:
    return Arm(name, "m", (Stage("p", Teacher(arm=teacher) if teacher else None),), "p")


def test_teachers_come_before_their_students_and_else_the_order_stays() -> None:
    arms = [arm("pupil", "student"), arm("first"), arm("student", "teacher"), arm("teacher"), arm("last")]
    assert [one.name for one in order_arms(arms)] == ["teacher", "student", "pupil", "first", "last"]


def test_an_arm_that_teaches_itself_is_a_cycle() -> None:
    with pytest.raises(UsageError, match=r"teachers form a cycle: a <- a$"):
        order_arms([arm("a", "a")])
