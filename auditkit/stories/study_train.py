"""The workshop of a study: stages trained once a seed, arms put together from them, and scored.

A stage's folder is named by everything that decides its weights, so arms that begin alike share it, a stopped study
goes on where it was, and a changed setting trains anew.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from auditkit.report.as_json import parquet
from auditkit.stories.study_frames import write_file
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.study_records.settings import Arm, ModelSpec, Stage, StudySettings, Teacher
from auditkit.train import card, head, ledger, models, score, stages, teachers
from auditkit.train.features import Features, features
from auditkit.train.folders import fresh_folder, model_digest
from auditkit.train.labels import SoftLabels
from auditkit.train.record import StageRun, same_stage

Note = Callable[[str], None]

#: The arms trained on the contaminated pool lie below this folder of a study.
RAW = "raw"


@dataclass(frozen=True)
class TrainingSet:
    """What arms learn from.

    Attributes:
        texts: the training prompts.
        hard: policy -> labels 0, 1, or -1 where unknown: int64 [n].
        columns: name -> probabilities of "flagged" that a teacher may be: [n].
    """

    texts: list[str]
    hard: Mapping[str, NDArray[np.int64]]
    columns: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """An arm's last stage for one seed: its folder, and the records and keys of all its stages."""

    folder: Path
    keys: tuple[str, ...]
    records: tuple[StageRecord, ...]


class Workshop:
    """Trains and scores the arms of one study in its folder; those of the contaminated pool below RAW in it.

    Base models, features and what outside teachers say are of all of them.
    """

    def __init__(
        self, settings: StudySettings, study: Path, data: TrainingSet, note: Note, *, is_raw: bool = False
    ) -> None:
        self.settings, self.study, self.data, self.note, self.is_raw = settings, study, data, note, is_raw
        self.folder = study / RAW if is_raw else study
        self.arms = {arm.name: arm for arm in settings.arms}
        self.models = {model.name: model for model in settings.models}
        self._trained: dict[tuple[str, int], Trained] = {}
        self._features: dict[tuple[str, str], Features] = {}
        self._said: dict[tuple[str, str, str, str, int], SoftLabels] = {}
        self._folders = folder_names([*self.arms, *self.models])

    # ------------------------------------------------------------ training

    def train(self, arm: Arm, seed: int) -> Trained:
        """Return the arm trained with a seed; what it needs is trained first, finished stages are taken as they are."""
        known = self._trained.get((arm.name, seed))
        if known is None:
            known = self._trained[arm.name, seed] = self._train(arm, seed)
        return known

    def _train(self, arm: Arm, seed: int) -> Trained:
        base = self.base(self.models[arm.model], seed)
        start: Path | None = None if self.settings.trainer == "head" else base.folder
        keys: list[str] = []
        records: list[StageRecord] = []
        for stage in arm.stages:
            hard = self.data.hard[stage.labels] if stage.labels else None
            key = ledger.stage_key(
                base_digest=base.digest, seed=seed, earlier=keys, teacher_key=self._teacher_key(stage, seed),
                data_digest=ledger.data_digest(self.data.texts, hard), stage=self._as_run(stage),
                optimizer=self.settings.optimizer, trainer=self.settings.trainer,
            )  # fmt: skip
            out = self.folder / "stages" / key.split(":")[1][:24]
            done = same_stage(out, key)
            if done is None:
                self.note(f"{arm.name}, seed {seed}, stage {len(keys) + 1} of {len(arm.stages)}")
                done = self._run_stage(arm, start, stage, hard, seed, out, key)
            records.append(done)
            keys.append(key)
            start = out
        assert start is not None
        return Trained(start, tuple(keys), tuple(records))

    def _run_stage(
        self, arm: Arm, start: Path | None, stage: Stage, hard: NDArray[np.int64] | None, seed: int, out: Path, key: str
    ) -> StageRecord:
        run = StageRun(self._as_run(stage), hard, self._soft(stage, seed), self.settings.optimizer, seed, out, key)
        if self.settings.trainer == "head":
            return head.train_head_stage(start, self.features(arm.model, self.data.texts), run)
        assert start is not None
        return stages.train_stage(start, self.data.texts, run)

    def _as_run(self, stage: Stage) -> Stage:
        return head.head_stage(stage) if self.settings.trainer == "head" else stage

    def _teacher_key(self, stage: Stage, seed: int) -> str:
        """Return what identifies a stage's teacher: an arm by the key of its last stage, which asks for no score."""
        if stage.teacher is None:
            return ""
        if stage.teacher.arm:
            return self.train(self.arms[stage.teacher.arm], seed).keys[-1]
        soft = self._soft(stage, seed)
        return soft.digest if soft is not None else ""

    def _soft(self, stage: Stage, seed: int) -> SoftLabels | None:
        """Return the soft labels of a stage's teacher; those of one teacher are made once."""
        teacher = stage.teacher
        if teacher is None:
            return None
        place = (teacher.arm, teacher.model, teacher.revision, teacher.column, seed if teacher.arm else 0)
        if place not in self._said:
            self._said[place] = self._ask(teacher, seed)
        return self._said[place]

    def _ask(self, teacher: Teacher, seed: int) -> SoftLabels:
        tokens = self.settings.optimizer.max_tokens
        if teacher.column:
            return teachers.from_column(self.data.columns[teacher.column], teacher.column)
        if teacher.model:
            return teachers.from_guard(
                teacher.model, self.data.texts, max_tokens=tokens, revision=teacher.revision,
                cache=self.study / "soft-labels",
            )  # fmt: skip
        arm = self.arms[teacher.arm]
        found = self.features(arm.model, self.data.texts) if self.settings.trainer == "head" else None
        return teachers.from_arm(self.train(arm, seed).folder, self.data.texts, max_tokens=tokens, features=found)

    # ------------------------------------------------------------ bases and scores

    def base(self, model: ModelSpec, seed: int) -> models.Checkpoint:
        """Return the base model; with frozen features the head is no part of it, so all seeds share one."""
        shared = self.settings.trainer == "head"
        chosen = self.settings.seeds[0] if shared else seed
        return models.base_folder(model, chosen, self.study / "bases" / f"{self._folders[model.name]}-{chosen}")

    def features(self, model: str, texts: list[str], batch_size: int = 64) -> Features:
        """Return the frozen features of texts by a model, computed once."""
        key = (model, ledger.data_digest(texts))
        if key not in self._features:
            self.note(f"features of {len(texts):,} texts by {model}")
            base = self.base(self.models[model], self.settings.seeds[0])
            self._features[key] = features(
                base.folder, texts, max_tokens=self.settings.optimizer.max_tokens, cache=self.study / "features",
                batch_size=batch_size,
            )  # fmt: skip
        return self._features[key]

    def score(self, arm: Arm, seed: int, texts: list[str], batch_size: int = 64) -> score.Scores:
        """Return the scores of texts by a trained arm."""
        trained = self.train(arm, seed)
        if self.settings.trainer == "head":
            return head.score_head(trained.folder, self.features(arm.model, texts, batch_size))
        tokens = self.settings.optimizer.max_tokens
        return score.score(trained.folder, texts, max_tokens=tokens, batch_size=batch_size)

    def predict(
        self, arm: Arm, seed: int, prompts: pl.DataFrame, *, is_reversed: bool = False, batch_size: int = 64
    ) -> pl.DataFrame:
        """Return the frame tables.PREDICTIONS of an arm and seed for prompts (set, item, text).

        Args:
            is_reversed: score them in reverse order; the frame's order stays.
            batch_size: texts scored at once.
        """
        texts = prompts["text"].to_list()
        scores = self._kept(arm, seed, texts[::-1] if is_reversed else texts, batch_size)
        return prompts.select(
            pl.lit(arm.name).alias("arm"),
            pl.lit(seed, pl.Int64).alias("seed"),
            "set",
            "item",
            (scores.reverse() if is_reversed else scores).alias("score"),
            pl.lit(None, pl.Int8).alias("decision"),
            pl.lit("ok").alias("status"),
        )

    def _kept(self, arm: Arm, seed: int, texts: list[str], batch_size: int) -> pl.Series:
        """Return the scores of texts, from disk where they were made before.

        The file is named by the stage's key, the texts and the batch: another training or another prompt is another
        file. What arm, set and item are called is no part of it.
        """
        name = ledger.score_key(
            checkpoint_digest=self.train(arm, seed).keys[-1], texts_digest=ledger.data_digest(texts),
            max_tokens=self.settings.optimizer.max_tokens, threshold_rule=f"batch {batch_size}", seed=seed,
        )  # fmt: skip
        path = self.folder / "predictions" / f"{self._folders[arm.name]}-{seed}-{name.split(':')[1][:16]}.parquet"
        if path.is_file():
            return pl.read_parquet(path)["score"]
        self.note(f"scores of {arm.name}, seed {seed}")
        scores = pl.DataFrame({"score": self.score(arm, seed, texts, batch_size).probabilities})
        write_file(path, parquet(scores))
        return scores["score"]

    # ------------------------------------------------------------ ledger

    def entry(self, arm: Arm, seed: int) -> LedgerEntry:
        """Return the ledger entry of an arm and seed, and write its folder: the model, its card and the entry."""
        trained, model = self.train(arm, seed), self.models[arm.model]
        base = self.base(model, seed)
        folder = self.folder / "arms" / self._folders[arm.name] / f"seed-{seed}"
        entry = LedgerEntry(
            arm=arm.name,
            seed=seed,
            model=model.name,
            model_source=base.source,
            model_digest=base.digest,
            final_policy=arm.final_policy,
            parent=arm.parent,
            control=arm.control,
            stages=trained.records,
            optimizer=asdict(self.settings.optimizer),
            data_digest=ledger.data_digest(self.data.texts, *(self.data.hard[p.name] for p in self.settings.policies)),
            weights_digest=model_digest(trained.folder),
            folder=str(folder.relative_to(self.study)),
            versions=ledger.training_versions(),
            is_raw=self.is_raw,
        )
        if not _holds(folder, entry.weights_digest):
            shutil.rmtree(folder, ignore_errors=True)
            with fresh_folder(folder) as spare:
                _copy(trained.folder, spare)
                card.write_entry(spare, entry)
        card.write_entry(folder, entry)
        return entry


def _holds(folder: Path, weights_digest: str) -> bool:
    """Return whether an arm's folder, which appears whole or not at all, is of these weights."""
    return (folder / ledger.LEDGER_FILE).is_file() and ledger.read_entry(folder).weights_digest == weights_digest


def folder_names(names: Sequence[str]) -> dict[str, str]:
    """Return name -> folder name; names that would share one, whatever their case, get a digest behind it."""
    slugs = {name: slug(name) for name in names}
    alike = Counter(slugs.values())
    return {
        name: short if alike[short] == 1 else f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        for name, short in slugs.items()
    }


def slug(name: str) -> str:
    """Return a folder name made of letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "arm"


def _copy(source: Path, folder: Path) -> None:
    """Make an arm's folder of its last stage's files; hard links where the file system has them."""
    for path in sorted(source.rglob("*")):
        target = folder / path.relative_to(source)
        if path.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(path)
        except OSError:
            shutil.copy2(path, target)
