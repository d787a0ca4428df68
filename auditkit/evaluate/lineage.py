"""Which arms are related: they share a parent, a teacher, or a first stage on one model."""

from __future__ import annotations

from collections.abc import Sequence

from auditkit.study_records.settings import Arm


def lineages(arms: Sequence[Arm]) -> tuple[tuple[str, ...], ...]:
    """Return the independent lineages of arms, each with its root first, in the order of `arms`.

    Two arms are related where one is made from the other or taught by it, where they share a teacher, or where they
    share the first stage on one model (which is trained once). Seeds that all arms share relate them all alike: what a
    seed does to every arm cancels in a range and stays in the seed floor, so it makes a range test conservative and is
    no reason to merge lineages. The root is the arm without parent and teacher that has the fewest stages.
    """
    by_name = {arm.name: arm for arm in arms}
    above = {name: name for name in by_name}

    def root(name: str) -> str:
        while above[name] != name:
            name = above[name]
        return name

    firsts: dict[object, str] = {}
    for arm in arms:
        ties: list[object] = [("first stage", arm.model, arm.stages[0])] if arm.stages else []
        ties += [("teacher", teacher) for teacher in teachers(arm)]
        for tie in ties:
            above[root(arm.name)] = root(firsts.setdefault(tie, arm.name))
        for relative in (arm.parent, *teachers(arm)):
            if relative in above:
                above[root(arm.name)] = root(relative)
    members: dict[str, list[str]] = {}
    for arm in arms:
        members.setdefault(root(arm.name), []).append(arm.name)
    return tuple(_root_first([by_name[name] for name in names]) for names in members.values())


def teachers(arm: Arm) -> tuple[str, ...]:
    """Return the arms, models and columns that teach an arm in any stage."""
    named = [stage.teacher for stage in arm.stages if stage.teacher]
    return tuple(dict.fromkeys(teacher.arm or teacher.model or teacher.column for teacher in named))


def _root_first(arms: list[Arm]) -> tuple[str, ...]:
    def rank(arm: Arm) -> tuple[bool, bool, int]:
        return bool(arm.parent), bool(teachers(arm)), len(arm.stages)

    first = min(arms, key=rank)
    return (first.name, *(arm.name for arm in arms if arm.name != first.name))
