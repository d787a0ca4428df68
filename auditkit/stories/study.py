"""Story 2: a raw pool and a study file -> clean data, split by families -> arms -> scores -> what they measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from auditkit import read, tables
from auditkit.errors import UsageError
from auditkit.families import family_frame
from auditkit.formats import read_records
from auditkit.records import Pool
from auditkit.report.study_write import write_study
from auditkit.run.plan import PLAN, claim_folder
from auditkit.split.groups import assign
from auditkit.stories.arms import order_arms
from auditkit.stories.near import FamilySettings, self_join
from auditkit.stories.study_data import benchmark_prompts, draw, read_prompts, read_settings, strata_of
from auditkit.stories.study_file import load_study
from auditkit.stories.study_frames import Frames, write_file
from auditkit.stories.study_gate import audit_earlier_pools, clean_pool, excluded_items
from auditkit.stories.study_result import Material, result_of
from auditkit.stories.study_train import TrainingSet, Workshop
from auditkit.study_records.ledger import LedgerEntry
from auditkit.study_records.results import StudyResult
from auditkit.study_records.settings import StudySettings

SIDES = ("train", "dev", "test")

Note = Callable[[str], None]


@dataclass
class _Clock:
    """Seconds by stage of the study."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began


def study(
    settings: StudySettings | str | Path,
    out: str | Path,
    *,
    overwrite: bool = False,
    note: Note = lambda text: None,
) -> StudyResult:
    """Run a policy study and write its report; what is finished in `out` is taken as it is.

    `out` then holds audit/ and clean/, targets.parquet and predictions.parquet (from which every number can be
    recomputed), arms/ (each with model, card and ledger), study.json, study.md and study.html.

    Args:
        settings: a study file, or its settings.
        out: the study's folder.
        overwrite: take over the folder of another study.
        note: called with what is going on.

    Raises:
        AuditkitError: one of its kinds (see errors.py); finished stages stay for the next run.
    """
    settings = load_study(settings) if isinstance(settings, (str, Path)) else settings
    folder, clock = Path(out), _Clock()
    plan = claim_folder(folder, list(settings.pool), asdict(settings), overwrite, what="a study")
    # Unlike an audit a study leaves finished stages behind, so the folder is its own from the start.
    write_file(folder / PLAN, plan)
    with clock.of("audit"):
        note("audit of the pool")
        before, after, pool = clean_pool(settings, folder)
        earlier = audit_earlier_pools(settings, folder)
    with clock.of("data"):
        prompts = sides_of(draw(read_prompts(pool, settings), settings.sample, settings.split_seed), settings)
        scored = _scored_prompts(prompts, settings, excluded_items(earlier))
    with clock.of("arms"):
        workshop = Workshop(settings, folder, _training_set(prompts, pool, settings), note)
        predictions, ledger = _trained_arms(workshop, scored, settings)
        again = _evaluated_again(workshop, scored, settings)
    with clock.of("raw"):
        raw, raw_ledger = _raw_arms(settings, folder, scored, note)
    training = _targets(prompts.filter(pl.col("set") == "train"))
    frames = Frames(predictions=predictions, targets=_targets(scored), training=training, again=again, raw=raw)
    frames.write(folder)
    note("statistics")
    with clock.of("statistics"):
        result = result_of(Material(settings, frames, before, after, earlier, ledger, raw_ledger, {}))
    result = replace(result, seconds=clock.seconds)
    write_study(result, folder)
    return result


# ---------------------------------------------------------------- sides


def sides_of(prompts: pl.DataFrame, settings: StudySettings) -> pl.DataFrame:
    """Return the prompts with `set` (train, dev, test), `item` within it, and `group`, their near-duplicate family.

    Families stay on one side; sides are stratified by label cell and source.
    """
    near = self_join(prompts["text"], FamilySettings())
    rows = prompts.select("pool", "row")
    numbered = rows.with_columns(near.text_of.alias("text")).drop_nulls("text")
    families = family_frame(rows, numbered, near.links)["family"]
    shares = dict(zip(SIDES, (settings.train, settings.dev, settings.test), strict=True))
    sides = assign(families.to_list(), strata_of(prompts).to_list(), shares, settings.split_seed)
    found = prompts.with_columns(pl.Series("set", sides), families.alias("group"))
    for side in ("dev", "test"):
        labels = found.filter(pl.col("set") == side)
        if len(labels) == 0 or labels["label_a"].n_unique() < 2:
            raise UsageError(
                f"the {side} side has {len(labels)} prompts, too few for both labels; raise its share or the sample"
            )
    return found.with_columns(pl.int_range(pl.len()).over("set").cast(pl.Int64).alias("item"))


def _scored_prompts(prompts: pl.DataFrame, settings: StudySettings, excluded: Mapping[str, set[int]]) -> pl.DataFrame:
    """Return dev, test and benchmark prompts: set, item, text, group, source, labels, expected.

    Args:
        excluded: benchmark -> items that are left out.

    Raises:
        UsageError: nothing of a benchmark is left.
    """
    columns = ["set", "item", "text", "group", "source", "label_a", "label_b", "expected"]
    own = prompts.filter(pl.col("set") != "train").with_columns(pl.lit(None, pl.Int8).alias("expected")).select(columns)
    frames = [own]
    taken = {*SIDES}
    for benchmark in read.open_benchmarks([one.spec for one in settings.benchmarks]):
        if benchmark.name in taken:
            raise UsageError(f"a benchmark is called '{benchmark.name}'; that is the name of a side of the pool")
        items = _without(benchmark_prompts(benchmark), benchmark.name, excluded.get(benchmark.name, set()))
        near = self_join(items["text"], FamilySettings())
        rows = items.select(pl.lit(benchmark.name).alias("pool"), pl.col("item").alias("row"))
        numbered = rows.with_columns(near.text_of.alias("text")).drop_nulls("text")
        frames.append(
            items.with_columns(
                pl.lit(benchmark.name).alias("set"),
                family_frame(rows, numbered, near.links)["family"].alias("group"),
                pl.lit(None, pl.String).alias("source"),
                pl.lit(None, pl.Int8).alias("label_a"),
                pl.lit(None, pl.Int8).alias("label_b"),
            ).select(columns)
        )
    return pl.concat(frames)


def _without(items: pl.DataFrame, benchmark: str, excluded: set[int]) -> pl.DataFrame:
    left = items.filter(~pl.col("item").is_in(list(excluded)))
    if left.is_empty() and excluded:
        raise UsageError(
            f"benchmark '{benchmark}': all of its {len(items)} items stand in pools that a base model or a teacher was "
            "trained on, so nothing clean is left to evaluate; leave it out, or set evaluation.leaked_items to 'keep'"
        )
    return left


def _targets(prompts: pl.DataFrame) -> pl.DataFrame:
    """Return frame tables.TARGETS of prompts."""
    if "expected" not in prompts.columns:
        prompts = prompts.with_columns(pl.lit(None, pl.Int8).alias("expected"))
    return tables.check(prompts.select(tables.TARGETS.keys()), tables.TARGETS, "study targets")


def _training_set(prompts: pl.DataFrame, pool: Pool, settings: StudySettings) -> TrainingSet:
    train = prompts.filter(pl.col("set") == "train")
    hard = {
        policy.name: train[column].fill_null(-1).cast(pl.Int64).to_numpy()
        for policy, column in zip(settings.policies, ("label_a", "label_b"), strict=True)
    }
    wanted = {s.teacher.column for arm in settings.arms for s in arm.stages if s.teacher and s.teacher.column}
    columns = {name: _column(pool, name, train) for name in sorted(wanted)}
    return TrainingSet(train["text"].to_list(), hard, columns)


def _column(pool: Pool, name: str, train: pl.DataFrame) -> list[float | None]:
    """Return a teacher's column of the pool for the training rows."""
    values: dict[tuple[str, int], Any] = {}
    for source in pool.sources:
        for batch in read_records(source):
            for number, record in zip(batch.numbers, batch.rows(), strict=True):
                if name in record:
                    values[source.name, number] = record[name]
    if not values:
        raise UsageError(f"no column '{name}' in the pool, which an arm has as its teacher")
    return [values.get(row) for row in train.select("pool", "row").rows()]


# ---------------------------------------------------------------- arms


def _trained_arms(
    workshop: Workshop, scored: pl.DataFrame, settings: StudySettings
) -> tuple[pl.DataFrame, tuple[LedgerEntry, ...]]:
    """Return the scores of all arms and seeds, teachers first, and their ledger."""
    cells = [(arm, seed) for arm in order_arms(settings.arms) for seed in settings.seeds]
    predictions = pl.concat([workshop.predict(arm, seed, scored) for arm, seed in cells])
    return predictions, tuple(workshop.entry(arm, seed) for arm, seed in cells)


def _evaluated_again(workshop: Workshop, scored: pl.DataFrame, settings: StudySettings) -> pl.DataFrame:
    """Return the first arm's predictions with another batch size and the prompts in reverse order."""
    arm, seed = settings.arms[0], settings.seeds[0]
    return workshop.predict(arm, seed, scored, is_reversed=True, batch_size=7)


def _raw_arms(
    settings: StudySettings, folder: Path, scored: pl.DataFrame, note: Note
) -> tuple[pl.DataFrame, tuple[LedgerEntry, ...]]:
    """Return the scores of the same arms trained on the contaminated pool, on the same prompts, and their ledger.

    Both are empty where the study does not ask for them.
    """
    if not settings.also_raw:
        return tables.empty(tables.PREDICTIONS), ()
    pool = read.open_pool(settings.pool, read_settings(settings))
    drawn = draw(read_prompts(pool, settings), settings.sample, settings.split_seed)
    # Dev and test prompts of the study stay unseen; every other row may be trained on, leaked ones included.
    held_out = scored.filter(pl.col("set").is_in(["dev", "test"])).select("text").unique()
    train = drawn.join(held_out, on="text", how="anti", maintain_order="left").with_columns(
        pl.lit("train").alias("set")
    )
    data = _training_set(train, pool, settings)
    workshop = Workshop(settings, folder, data, lambda text: note(f"raw: {text}"), is_raw=True)
    return _trained_arms(workshop, scored, settings)
