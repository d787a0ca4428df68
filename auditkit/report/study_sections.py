"""What a study's report says, in its order: the answer, the numbers, the disclosures. Views only draw it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from auditkit.report import study_benchmarks as benchmarks
from auditkit.report import study_grids as grids
from auditkit.report import study_ledger as ledger
from auditkit.report import study_words as words
from auditkit.report.grids import Block, Grid, Section
from auditkit.report.phrases import count, counted
from auditkit.report.study_mapping import flattened, of_mapping
from auditkit.study_records.results import POINTS, Estimate, StudyResult
from auditkit.study_records.settings import Arm

#: What docs/definitions.md asks of a study, and words by which a disclosure of it is known.
ASKED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("training-data contamination of every pool, teachers' and earlier stages' pools included", ("contamin",)),
    ("the seed floor", ("floor",)),
    ("the exact grading definition of every benchmark", ("grading", "benchmark")),
    ("the provenance of every teacher and soft label", ("provenance", "teacher", "soft")),
    ("results across policies and thresholds", ("threshold", "operating point", "across")),
    ("capability and policy agreement, separately", ("capability", "separate")),
)


def sections(result: StudyResult) -> tuple[Section, ...]:
    """Return the parts of the report in their order; those that have nothing to say are left out."""
    table = words.measured(result)
    made = (
        _answer(result),
        _cells(result),
        _arms(result, table),
        _ranges(result),
        _points(result, table),
        _inheritance(result),
        _accuracy(result),
        _patches(result),
        _mapping("Contamination of the pool, before and after", result.contamination, "benchmark"),
        _earlier_pools(result),
        _mapping("What contamination did to the scores", result.raw, "arm"),
        _definitions(result),
        _ledger(result),
        _disclosures(result),
    )
    return tuple(section for section in made if section.points or section.figures or section.blocks or section.notes)


def headline(result: StudyResult) -> tuple[str, ...]:
    """Return the answer, a sentence for each benchmark."""
    return result.headline or tuple(r.sentence for r in result.ranges if r.point == "native")


def missing(result: StudyResult) -> list[str]:
    """Return the disclosures that the study lacks."""
    said = [item for item, where in result.disclosures.items() if where.startswith("missing")]
    return said + _unsaid(result.disclosures)


def _unsaid(disclosures: Mapping[str, str]) -> list[str]:
    known = [item.casefold() for item in disclosures]
    return [asked for asked, marks in ASKED if not any(mark in item for mark in marks for item in known)]


def facts(result: StudyResult) -> str:
    """Return the study in one line: arms, seeds, models, policies, trainer."""
    settings = result.settings
    a, b = (policy.name for policy in settings.policies)
    own = [arm for arm in settings.arms if not arm.control]
    n_controls = len(settings.arms) - len(own)
    parts = [
        counted(len(own), "arm"),
        counted(n_controls, "control arm") if n_controls else "no control arms",
        f"{counted(len(settings.seeds), 'seed')} each",
        f"policy A {a}, policy B {b}",
        f"models {', '.join(f'{model.name} ({model.source})' for model in settings.models)}",
        f"trainer {settings.trainer}",
    ]
    return "; ".join(parts)


# ---------------------------------------------------------------- parts


def _blocks(*blocks: Block) -> tuple[Block, ...]:
    return tuple(block for block in blocks if block.grid.rows)


def _answer(result: StudyResult) -> Section:
    lacking = missing(result)
    note = (f"This report lacks {counted(len(lacking), 'disclosure')}: {'; '.join(lacking)}.",) if lacking else ()
    return Section(
        "What each benchmark measures", headline(result), blocks=_blocks(Block(grids.verdicts(result))), notes=note
    )


def _cells(result: StudyResult) -> Section:
    notes = (f"Nested policies: {result.nested}",) if result.nested else ()
    return Section("Prompts by their two labels", blocks=_blocks(Block(grids.cells(result))), notes=notes)


def _arms(result: StudyResult, table: grids.Table) -> Section:
    own = [arm for arm in words.arms(result) if not arm.control]
    controls = [arm for arm in words.arms(result) if arm.control]
    blocks = [
        Block(grids.measures(result, own, table), "Capability and policy agreement: test split, native 0.5"),
        Block(grids.errors(result, own, table), "Accuracy, over-refusal, miss: test split, native 0.5"),
        Block(grids.recipes(result, own), "How they were trained"),
        Block(grids.errors(result, own, table, part="fail_closed"), "The same, failed predictions counted as flagged"),
        Block(_gaps(result), "Arms that end on A against arms that end on B"),
        Block(grids.measures(result, controls, table), "Control arms: capability and policy agreement", True),
        Block(grids.errors(result, controls, table), "Control arms: accuracy, over-refusal, miss", True),
        Block(grids.recipes(result, controls), "Control arms: how they were trained", True),
        Block(grids.by_source(result, own, table), "Capability per source", True),
    ]
    note = "Every number is the mean over the arm's seeds. An interval stands where the study computed one."
    kept = _blocks(*blocks)
    return Section("Arms", (), ("capability",) if own else (), kept, (note,) if kept else ())


def _gaps(result: StudyResult) -> Grid:
    rows = [
        (what, words.estimate(e))
        for what, e in (
            ("difference in capability (AUROC on C)", result.capability_gap),
            ("difference in agreement (lambda A)", result.agreement_gap),
        )
    ]
    return Grid(("", "A-final less B-final"), tuple(rows))


def _ranges(result: StudyResult) -> Section:
    points = words.in_order({r.point for r in result.ranges}, ["native", "matched_fpr", *POINTS])
    main = [at for at in points if at in ("native", "matched_fpr")]
    said = {at: f", at {words.point(at, result.settings)}" for at in points}
    tables = (
        ("Range of the arms' flag rates", benchmarks.ranges),
        ("What they follow", benchmarks.explained),
        ("Independent lineages", benchmarks.lineages),
    )
    blocks = [Block(grid(result, at), what + said[at], at not in main) for at in points for what, grid in tables]
    blocks += [Block(grid, caption or "The fold") for caption, grid in of_mapping(result.fold, "benchmark")]
    rates, pairs = "Flag rate of every arm", "Related arms compared in pairs"
    arms = words.arms(result)
    blocks += [Block(benchmarks.flag_rates(result, at, arms), rates + said[at], True) for at in points]
    blocks += [Block(benchmarks.paired(result, at), pairs + said[at], True) for at in points]
    figures = tuple(f"ranges_{at}" for at in main)
    notes = (
        "A range is tested against the critical range: what noise alone exceeds in 5 % of studies with these arms and "
        "seeds. The fold comes second: it explodes as the narrower range nears 0.",
    )
    return Section("Ranges across arms", (), figures, _blocks(*blocks), notes if result.ranges else ())


def _points(result: StudyResult, table: grids.Table) -> Section:
    own = [arm for arm in words.arms(result) if not arm.control]
    known = words.in_order({key[4] for key in table if key[4]}, POINTS)
    blocks = [
        Block(
            grids.errors(result, own, table, at),
            f"Accuracy, over-refusal, miss at {words.point(at, result.settings)}",
            True,
        )
        for at in known
        if at != "native"
    ]
    blocks += [
        Block(grids.thresholds(result, words.arms(result)), "Thresholds, chosen on dev alone (a value a seed)", True),
        Block(_others(result, own, table), "All other metrics: test split", True),
    ]
    return Section("Other operating points", (), ("det_a", "det_b") if result.det_curves else (), _blocks(*blocks))


def _others(result: StudyResult, arms: Sequence[Arm], table: grids.Table) -> Grid:
    shown = {"auroc_concordant", "agreement_a", "agreement_b", "direction", "strictness"}
    shown |= {f"{metric}_{which}" for metric in ("acc", "over_refusal", "miss") for which in "ab"}
    others = sorted({(key[3], key[4]) for key in table if key[1] == "test" and key[2] == "all"} - {("", "")})
    wanted = [
        (words.metric(name, result.settings) + (f", {words.point(at, result.settings)}" if at else ""), name, at)
        for name, at in others
        if name not in shown and at in ("", "native", "matched_fpr")
    ]
    return grids.by_arm(arms, table, wanted)


def _inheritance(result: StudyResult) -> Section:
    rows = result.inheritance
    notes = [
        "0 is no inheritance, 1 the teacher's whole policy. Without a difference between teacher and reference it is "
        "undefined. A teacher's effect counts where it exceeds that of the controls."
    ]
    notes += _methods([i.inheritance for i in rows] + [i.difference for i in rows])
    for note in dict.fromkeys(i.note for i in rows if i.note):
        whose = dict.fromkeys(f"{words.base(i.student, result)} ({i.kind})" for i in rows if i.note == note)
        notes.append(f"{', '.join(whose)}: {note}.")
    kinds = {i.kind for i in rows}
    lacking = [k.replace("_", " ") for k in ("same_policy", "shuffled", "hardened", "dose") if k not in kinds]
    notes += [f"Controls that were not run: {', '.join(lacking)}."] if lacking else []
    return Section(
        "What students took from their teachers",
        figures=("inheritance", "dose_weight", "dose_temperature") if rows else (),
        blocks=_blocks(Block(grids.inheritance(result))),
        notes=tuple(notes) if rows else (),
    )


def _methods(estimates: Iterable[Estimate]) -> list[str]:
    found = sorted({e.method for e in estimates if e.method})
    return [f"Intervals: {'; '.join(found)}."] if found else []


def _accuracy(result: StudyResult) -> Section:
    rows = result.correlations
    blocks = [Block(grids.correlations(rows, result.settings))]
    tests = {words.metric(key, result.settings): thing for key, thing in result.correlation_test.items()}
    blocks += [
        Block(grid, caption or "Do the two correlations differ?")
        for caption, grid in of_mapping(tests, "accuracy")
        if rows
    ]
    n = min((c.n_arms for c in rows), default=0)
    notes = []
    if 0 < n < 40 and not any("descriptive" in c.note.casefold() for c in rows):
        notes.append(f"Descriptive: {count(n)} arms are too few to tell two correlations apart (about 40 are needed).")
    notes += list(dict.fromkeys(c.note for c in rows if c.note)) + _methods(c.pearson for c in rows)
    return Section("What accuracy goes with", blocks=_blocks(*blocks), notes=tuple(notes))


def _mapping(title: str, mapping: Mapping[str, Any], first: str, notes: tuple[str, ...] = ()) -> Section:
    found = [Block(grid, caption) for caption, grid in of_mapping(mapping, first)]
    return Section(title, blocks=_blocks(*found), notes=notes if found else ())


def _earlier_pools(result: StudyResult) -> Section:
    items = {
        (name, item)
        for pool in result.earlier_pools
        for name, found in pool.leaked.items()
        for item in found
        if pool.is_excluded
    }
    notes = (
        "What a model has seen stays in its weights, so nothing was removed from these pools. "
        + (f"{counted(len(items), 'item')} left out of the evaluation of every arm." if items else "No item left out."),
        "Which items these are stands in study.json, under earlier_pools.",
    )
    return Section(
        "Pools of base models and teachers",
        blocks=_blocks(Block(benchmarks.earlier_pools(result))),
        notes=notes if result.earlier_pools else (),
    )


def _patches(result: StudyResult) -> Section:
    made = {arm: flattened(patch) if isinstance(patch, Mapping) else patch for arm, patch in result.patches.items()}
    notes = ("Share: of all parameters. Move: of the flag rate, less that of the arm it was made from.",)
    return _mapping("Patches: how little moves how much", made, "arm", notes)


def _definitions(result: StudyResult) -> Section:
    blocks = [
        Block(benchmarks.policies(result), "The two policies"),
        Block(benchmarks.definitions(result), "Benchmarks"),
    ]
    return Section("Policies and grading definitions", blocks=_blocks(*blocks))


def _ledger(result: StudyResult) -> Section:
    blocks = [
        Block(ledger.stages(result), "Stages: labels, teachers, trainable parameters, data", True),
        Block(ledger.arms(result.ledger), "Arms and seeds: base model, data and weights", True),
        Block(ledger.arms(result.raw_ledger), "Arms and seeds trained on the contaminated pool", True),
        Block(ledger.tensors(result), "Changed tensors", True),
        Block(ledger.commons(result), "Optimizer and versions", True),
    ]
    notes = ("Digests are cut short here; study.json has them whole.",) if result.ledger else ()
    return Section("Ledger", blocks=_blocks(*blocks), notes=notes)


def _disclosures(result: StudyResult) -> Section:
    rows = [
        (item, "missing" if where.startswith("missing") else "present", where.removeprefix("missing").lstrip(": "))
        for item, where in sorted(result.disclosures.items())
    ]
    rows += [(asked, "missing", "the study does not say") for asked in _unsaid(result.disclosures)]
    headers = ("what a study must disclose", "", "where it stands, or why not")
    return Section("Disclosures", blocks=(Block(Grid(headers, tuple(rows), 3)),))
