"""A study file -> StudySettings, checked: unknown keys, missing arms and cycles are errors that name the place."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from auditkit.errors import UsageError, nearest
from auditkit.formats import bare_name
from auditkit.stories.arms import MIXED, order_arms, origins, with_controls
from auditkit.stories.sections import Section, beside
from auditkit.study_records.settings import (
    Arm,
    ModelSpec,
    Optimizer,
    Part,
    Policy,
    Provenance,
    Stage,
    StudyBenchmark,
    StudySettings,
    Teacher,
    Trainable,
)

CLASSES = ("harmful", "benign", "mixed")
TRAINERS = ("finetune", "head")
LEAKED_ITEMS = ("exclude", "keep")


def example() -> str:
    """Return the commented ten-arm file."""
    return resources.files("auditkit.stories").joinpath("example_study.toml").read_text(encoding="utf-8")


def load_study(path: str | Path) -> StudySettings:
    """Return the settings of a study file; paths in it are relative to it.

    Raises:
        UsageError: the file is missing or no TOML, or something in it cannot be used; the message names the place.
    """
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"study file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"study file {path} is not TOML: {error}") from None
    return parse_study(values, str(path), Path(path).parent)


def parse_study(values: Mapping[str, Any], where: str, folder: Path) -> StudySettings:
    """Return the settings of plain values, checked."""
    top = Section(values, where)
    policies = _policies(top.section("policies"))
    models = tuple(_model(name, section) for name, section in top.section("models").sections())
    defaults = _stage_defaults(top.section("training", is_required=False))
    pool, split = top.section("pool"), top.section("split", is_required=False)
    evaluation, optimizer = top.section("evaluation", is_required=False), top.section("optimizer", is_required=False)
    arms = _arms(top.tables("arms"), defaults, [policy.name for policy in policies], [model.name for model in models])
    settings = StudySettings(
        name=top.text("name"),
        pool=tuple(beside(one, folder) for one in pool.texts("path")),
        policies=policies,
        benchmarks=tuple(_benchmark(section, folder) for section in top.tables("benchmarks")),
        models=models,
        arms=arms,
        seeds=tuple(top.whole_numbers("seeds", (1, 2, 3))),
        trainer=top.choice("trainer", TRAINERS, "finetune"),  # type: ignore[arg-type]
        optimizer=_optimizer(optimizer),
        text_fields=tuple(pool.texts("text", ())),
        source_column=pool.text("source", ""),
        train=split.number("train", 0.8, 0, 1),
        dev=split.number("dev", 0.1, 0, 1),
        test=split.number("test", 0.1, 0, 1),
        split_seed=split.whole("seed", 1, 0),
        sample=top.whole("sample", 0, 0),
        fpr=evaluation.number("fpr", 0.05, 0, 1),
        cost_ratio=evaluation.number("cost_ratio", 5.0, 0, math.inf),
        controls=top.flag("controls", False),
        also_raw=top.flag("also_raw", False),
        audit_tiers=tuple(top.texts("tiers", ("exact", "contained", "near"))),
        provenance=tuple(_provenance(section, folder) for section in top.tables("provenance", is_required=False)),
        leaked_items=evaluation.choice("leaked_items", LEAKED_ITEMS, "exclude"),  # type: ignore[arg-type]
    )
    for section in (top, pool, split, evaluation, optimizer):
        section.refuse_rest()
    _check(settings, where)
    return with_controls(settings) if settings.controls else settings


# ---------------------------------------------------------------- parts


def _policies(section: Section) -> tuple[Policy, Policy]:
    found = []
    for name, part in section.sections():
        values = {str(key).casefold(): _label(value, part) for key, value in part.mapping("values").items()}
        found.append(Policy(name, part.text("column"), values, part.text("text", "")))
        part.refuse_rest()
    if len(found) != 2:
        raise UsageError(f"{section.where}: {len(found)} policies, expected exactly two; the first is A, the second B")
    return found[0], found[1]


def _label(value: Any, section: Section) -> int | None:
    if value == "null":
        return None
    if isinstance(value, bool) or value not in (0, 1):
        raise UsageError(f'{section.where}.values: {value!r}, expected 0, 1 or "null"')
    return int(value)


def _model(name: str, section: Section) -> ModelSpec:
    model = ModelSpec(name, section.text("source"), section.text("revision", ""))
    section.refuse_rest()
    return model


def _benchmark(section: Section, folder: Path) -> StudyBenchmark:
    name, path = section.text("name"), section.text("path", "")
    spec = name
    if path:
        # A file of that very name needs no name beside it, and then is none of the registry's to check.
        spec = beside(path, folder) if bare_name(Path(path).name) == name else f"{name}={beside(path, folder)}"
    benchmark = StudyBenchmark(
        name, spec, section.choice("class", CLASSES, None), section.text("policy", ""), section.text("unit", "prompt"),
        section.text("revision", ""), section.text("expected", ""),
    )  # fmt: skip
    section.refuse_rest()
    return benchmark


def _provenance(section: Section, folder: Path) -> Provenance:
    pools = tuple(beside(one, folder) for one in section.texts("pools"))
    found = Provenance(section.text("of"), pools, tuple(section.texts("text", ())))
    section.refuse_rest()
    return found


def _optimizer(section: Section) -> Optimizer:
    default = Optimizer()
    return Optimizer(
        section.choice("name", ("adamw",), default.name),  # type: ignore[arg-type]
        section.number("weight_decay", default.weight_decay, 0, math.inf),
        section.whole("batch_size", default.batch_size, 1),
        section.number("warmup_share", default.warmup_share, 0, 1),
        section.whole("max_tokens", default.max_tokens, 8),
    )


def _stage_defaults(section: Section) -> Stage:
    for name in ("labels", "teacher"):
        if name in section.values:
            raise UsageError(f"{section.where}.{name}: {name} belong to a stage of an arm, not to the defaults of all")
    stage = _stage(section, Stage(""), [])
    section.refuse_rest()
    return stage


def _arm_stage(section: Section, default: Stage, policies: Sequence[str]) -> Stage:
    """Return a stage or a patch of an arm, which must have something to learn from."""
    stage = _stage(section, default, policies)
    section.refuse_rest()
    if not stage.labels and stage.teacher is None:
        raise UsageError(f"{section.where}: a stage needs labels, a teacher, or both")
    return stage


def _stage(section: Section, default: Stage, policies: Sequence[str]) -> Stage:
    trainable, teacher = section.section("trainable", is_required=False), section.section("teacher", is_required=False)
    labels = section.text("labels", "")
    if labels and labels not in policies:
        raise UsageError(f"{section.where}.labels is '{labels}', expected a policy{nearest(labels, policies)}")
    return Stage(
        labels,
        _teacher(teacher) if teacher.values else None,
        _trainable(trainable, default.trainable),
        section.number("epochs", default.epochs, 1e-3, 1000),
        section.number("learning_rate", default.learning_rate, 1e-9, 1),
        section.number("share", default.share, 1e-6, 1),
    )


def _trainable(section: Section, default: Trainable) -> Trainable:
    found = Trainable(
        section.choice("part", get_args(Part), default.part),  # type: ignore[arg-type]
        section.whole("rank", default.rank, 1),
        section.number("alpha", default.alpha, 0, math.inf),
        tuple(section.texts("targets", default.targets)),
        tuple(section.whole_numbers("layers", default.layers)),
        section.flag("head", default.is_head_trained),
    )
    section.refuse_rest()
    return found


def _teacher(section: Section) -> Teacher:
    default = Teacher()
    found = Teacher(
        section.text("arm", ""), section.text("model", ""), section.text("column", ""),
        section.number("temperature", default.temperature, 1e-3, math.inf),
        section.number("weight", default.weight, 0, 1),
        section.flag("hardened", False), section.flag("shuffled", False), section.text("revision", ""),
    )  # fmt: skip
    section.refuse_rest()
    if sum(bool(one) for one in (found.arm, found.model, found.column)) != 1:
        raise UsageError(f"{section.where}: expected exactly one of arm, model or column")
    if found.revision and not found.model:
        raise UsageError(f"{section.where}.revision is '{found.revision}', but only a model has one")
    return found


def _arms(
    sections: Sequence[Section], defaults: Stage, policies: Sequence[str], models: Sequence[str]
) -> tuple[Arm, ...]:
    arms: dict[str, Arm] = {}
    for section in sections:
        arm = _arm(section, defaults, policies, models, arms)
        if arm.name in arms:
            raise UsageError(f"{section.where}: two arms are called '{arm.name}'")
        section.refuse_rest()
        arms[arm.name] = arm
    return tuple(arms.values())


def _arm(
    section: Section, defaults: Stage, policies: Sequence[str], models: Sequence[str], known: Mapping[str, Arm]
) -> Arm:
    name, parent = section.text("name"), section.text("from", "")
    final = section.choice("final_policy", (*policies, MIXED), None)
    if parent:
        if parent not in known:
            raise UsageError(
                f"{section.where}.from is '{parent}', expected an arm above this one{nearest(parent, known)}"
            )
        stage = _arm_stage(section.section("patch"), defaults, policies)
        return Arm(name, known[parent].model, (*known[parent].stages, stage), final, parent)
    model = section.choice("model", models, None)
    stages = tuple(_arm_stage(part, defaults, policies) for part in section.tables("stages"))
    return Arm(name, model, stages, final)


def _check(settings: StudySettings, where: str) -> None:
    """Refuse what no part of the file can see by itself."""
    if len(settings.models) < 2:
        raise UsageError(f"{where}: models has {len(settings.models)}, expected two scales or more")
    if len(settings.arms) < 2:
        raise UsageError(f"{where}: arms has {len(settings.arms)}, expected two or more")
    if not settings.seeds or len(set(settings.seeds)) != len(settings.seeds):
        raise UsageError(f"{where}: seeds is {list(settings.seeds)}, expected different whole numbers")
    if len({benchmark.name for benchmark in settings.benchmarks}) != len(settings.benchmarks):
        raise UsageError(f"{where}: two benchmarks have one name")
    if settings.policies[0].column == settings.policies[1].column:
        raise UsageError(f"{where}: both policies read the column '{settings.policies[0].column}'")
    if (
        abs(settings.train + settings.dev + settings.test - 1) > 1e-9
        or not settings.train * settings.dev * settings.test
    ):
        shares = f"{settings.train:g} + {settings.dev:g} + {settings.test:g}"
        raise UsageError(f"{where}.split: train + dev + test is {shares}, expected three shares above 0 that make 1")
    order_arms(settings.arms, f"{where}: arms")
    _check_provenance(settings, where)
    finals = {arm.name: arm.final_policy for arm in settings.arms}
    for arm in settings.arms:
        _check_final_policy(arm, finals, where)


def _check_provenance(settings: StudySettings, where: str) -> None:
    """Every entry is of something that arms come from, and of something else than the others."""
    known = origins(settings)
    names = [one.of for one in settings.provenance]
    for i, name in enumerate(names, 1):
        if name not in known:
            raise UsageError(
                f"{where}.provenance[{i}].of is '{name}', expected a model's name, or the model or column of a teacher"
                f"{nearest(name, known)}"
            )
        if names.index(name) != i - 1:
            raise UsageError(f"{where}.provenance[{i}]: '{name}' stands there twice; name all its pools in one")


def _check_final_policy(arm: Arm, finals: Mapping[str, str], where: str) -> None:
    """The stated final policy is that of the last stage's hard labels; `mixed` where its teacher's differs."""
    stage, final = arm.stages[-1], arm.final_policy
    if final == MIXED and stage.teacher is None:
        raise UsageError(f"{where}: arm '{arm.name}' is mixed, but its last stage has no teacher")
    if final != MIXED and stage.labels and final != stage.labels:
        raise UsageError(
            f"{where}: arm '{arm.name}' has final_policy '{final}', but its last stage's labels are "
            f"'{stage.labels}'; where hard and soft labels differ it is '{MIXED}'"
        )
    teacher = finals.get(stage.teacher.arm) if stage.teacher is not None and not stage.teacher.is_shuffled else None
    if teacher is not None and stage.labels and (final == MIXED) == (teacher == stage.labels):
        expected = stage.labels if teacher == stage.labels else MIXED
        raise UsageError(
            f"{where}: arm '{arm.name}' has final_policy '{final}', expected '{expected}': its last stage's labels are "
            f"'{stage.labels}', its teacher ends on '{teacher}'"
        )
