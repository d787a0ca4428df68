"""The arms of a study: their order, their teachers, and the controls that make inheritance mean something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from auditkit.errors import UsageError, nearest
from auditkit.study_records.settings import Arm, StudySettings

#: The final policy of a student whose hard and soft labels differ.
MIXED = "mixed"


def with_controls(settings: StudySettings) -> StudySettings:
    """Return the settings with the control arms of docs/definitions.md for every arm that has an arm as its teacher.

    A teacher of the same policy as the hard labels; soft labels shuffled within hard-label class; the teacher's labels
    made hard; weights 0.25 and 1 and temperatures 1 and 4 for a dose curve.
    """
    finals = {arm.name: arm.final_policy for arm in settings.arms}
    models = {arm.name: arm.model for arm in settings.arms}
    added: list[Arm] = []
    for arm in settings.arms:
        stage = arm.stages[-1]
        if stage.teacher is None or not stage.teacher.arm or arm.control:
            continue
        teacher = stage.teacher
        same = [n for n, p in finals.items() if p == stage.labels and models[n] == models[teacher.arm]]
        changes = [
            ("shuffled", "", replace(teacher, is_shuffled=True)),
            ("hardened", "", replace(teacher, is_hardened=True)),
        ]
        changes += [("same_policy", "", replace(teacher, arm=same[0]))] if same else []
        changes += [("dose", f"weight {w}", replace(teacher, weight=w)) for w in (0.25, 1.0) if w != teacher.weight]
        changes += [("dose", f"T {t}", replace(teacher, temperature=t)) for t in (1.0, 4.0) if t != teacher.temperature]
        for control, dose, changed in changes:
            name = " ".join(word for word in (arm.name, f"[{control}", dose) if word) + "]"
            final = stage.labels if control in ("same_policy", "shuffled") else arm.final_policy
            stages = (*arm.stages[:-1], replace(stage, teacher=changed))
            added.append(Arm(name, arm.model, stages, final, arm.name, control))
    return replace(settings, arms=(*settings.arms, *added))


def order_arms(arms: Sequence[Arm], where: str = "arms") -> tuple[Arm, ...]:
    """Return the arms with every teacher before its students.

    Raises:
        UsageError: a teacher that is no arm, or a cycle; the message names the arms on it.
    """
    by_name = {arm.name: arm for arm in arms}
    done: dict[str, Arm] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise UsageError(f"{where}: teachers form a cycle: {' <- '.join((*path[path.index(name) :], name))}")
        if name in done:
            return
        for teacher in teachers_of(by_name[name]):
            if teacher not in by_name:
                raise UsageError(
                    f"{where}: arm '{name}' has the teacher '{teacher}', which is no arm{nearest(teacher, by_name)}"
                )
            visit(teacher, (*path, name))
        done[name] = by_name[name]

    for arm in arms:
        visit(arm.name, ())
    return tuple(done.values())


def origins(settings: StudySettings) -> dict[str, str]:
    """Return what arms come from but do not learn in the study: name -> "base model" or "teacher".

    Base models go by their name in the study, outside teachers by their model or column.
    """
    found = {model.name: "base model" for model in settings.models}
    teachers = [stage.teacher for arm in settings.arms for stage in arm.stages if stage.teacher is not None]
    return found | {name: "teacher" for one in teachers if (name := one.model or one.column)}


def descendants(arms: Sequence[Arm], origin: str) -> tuple[str, ...]:
    """Return the arms whose weights or soft labels go back to a base model or an outside teacher.

    A student of an arm that does goes back to it as well: what the origin has seen may reach it.
    """
    found: dict[str, None] = {}
    for arm in order_arms(arms):
        teachers = [stage.teacher for stage in arm.stages if stage.teacher is not None]
        is_taught = any(origin in (one.model, one.column) or one.arm in found for one in teachers)
        if arm.model == origin or is_taught:
            found[arm.name] = None
    return tuple(found)


def teachers_of(arm: Arm) -> list[str]:
    """Return the arms that teach in some stage of this one."""
    return [stage.teacher.arm for stage in arm.stages if stage.teacher is not None and stage.teacher.arm]
