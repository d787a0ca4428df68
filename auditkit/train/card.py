"""The model card of an arm: Markdown with YAML front matter, made of its ledger entry and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from auditkit.formats.streams import writing
from auditkit.study_records.ledger import LedgerEntry, StageRecord
from auditkit.train.folders import write_json
from auditkit.train.ledger import LEDGER_FILE, entry_to_json

CARD_FILE = "README.md"


def write_entry(folder: Path, entry: LedgerEntry) -> None:
    """Write ledger.json and the model card into an arm's folder.

    Raises:
        OutputError: they cannot be written.
    """
    write_json(folder / LEDGER_FILE, entry_to_json(entry))
    spare = folder / f".{CARD_FILE}.auditkit-part"
    with writing(folder / CARD_FILE):
        spare.write_text(model_card(entry), encoding="utf-8")
        spare.replace(folder / CARD_FILE)


def model_card(entry: LedgerEntry) -> str:
    """Return the card: front matter as model hubs read it, then how to load the arm and where every part came from."""
    parts = [_front(entry), f"# {_plain(entry.arm)}, seed {entry.seed}", _summary(entry), _loading(entry)]
    parts += ["## Stages", *(_stage(i, stage) for i, stage in enumerate(entry.stages, 1))]
    parts += ["## Provenance", _table(_provenance(entry))]
    return "\n\n".join(parts) + "\n"


def _front(entry: LedgerEntry) -> str:
    base = entry.model_source.partition("@")[0]
    lines = ["---", "library_name: transformers", "pipeline_tag: text-classification"]
    # A model hub reads base_model as a name with one slash; a folder of this machine is no such name.
    if base.count("/") == 1 and not base.startswith(("/", ".", "~")):
        lines.append(f"base_model: {json.dumps(base)}")
    lines += ["tags:", "- auditkit", "- guardrail", "- text-classification"]
    lines += ["- contaminated"] if entry.is_raw else []
    return "\n".join([*lines, "---"])


def _summary(entry: LedgerEntry) -> str:
    text = (
        f"A guardrail classifier (0 safe, 1 flagged) trained from {_plain(entry.model_source)} in {len(entry.stages)} "
        f"stage{'' if len(entry.stages) == 1 else 's'}; policy of the final stage: {_plain(entry.final_policy)}."
    )
    if entry.parent:
        text += f" It continues the arm {_plain(entry.parent)}."
    if entry.is_raw:
        text += (
            " It was trained on the contaminated pool, benchmark items included, to measure what that does to scores: "
            "its results on these benchmarks mean nothing else."
        )
    if entry.control:
        text += f" It is a control ({_plain(entry.control)}), not an arm to be used."
    return text + " Made for a study of labelling policies, not for moderating anything."


def _loading(entry: LedgerEntry) -> str:
    if entry.stages and entry.stages[-1].trainable_names[:1] == ("head.bias",):
        return (
            "This is a linear head on frozen features (`head.safetensors`); `auditkit.train.head.score_head` reads it "
            "with features of the encoder whose digest stands in `config.json`."
        )
    return (
        "```python\nfrom transformers import AutoModelForSequenceClassification, AutoTokenizer\n\n"
        "model = AutoModelForSequenceClassification.from_pretrained(folder)\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)\n```\n\n"
        "An adapter of the last stage, where it has one, is merged into these weights and lies in `adapter/` as well; "
        "`peft.PeftModel.from_pretrained` sets it on the checkpoint of the stage before."
    )


def _stage(number: int, stage: StageRecord) -> str:
    rows = [
        ("hard labels", stage.labels or "none"),
        ("teacher", stage.teacher or "none"),
        ("trained", stage.trainable),
        (
            "rows",
            f"{stage.n_rows:,}, {stage.n_truncated:,} of them cut; {stage.n_unlabelled:,} without a label left out",
        ),
        ("epochs, steps", f"{stage.epochs:g}, {stage.n_steps:,}"),
        ("learning rate", f"{stage.learning_rate:g}"),
        ("loss, first and last", f"{stage.losses[0]:g}, {stage.losses[-1]:g}" if stage.losses else "none"),
        ("key", stage.key),
    ]
    if stage.teacher:
        kind = "made hard" if stage.is_hardened else "soft (probabilities)"
        kind += ", shuffled within hard-label class" if stage.is_shuffled else ""
        soft = f"{kind}; temperature {stage.temperature:g}, weight {stage.weight:g}"
        facts = [("read from", stage.teacher_source), ("template's digest", stage.template_digest)]
        stated = [(name, value) for name, value in facts if value]
        rows[2:2] = [("teacher's labels", soft), ("teacher's digest", stage.teacher_digest), *stated]
    return f"### Stage {number}\n\n{_table(rows)}"


def _provenance(entry: LedgerEntry) -> list[tuple[str, str]]:
    rows = [
        ("base model", entry.model_source),
        ("base digest", entry.model_digest),
        ("weights digest", entry.weights_digest),
        ("training data", "the contaminated pool" if entry.is_raw else "a pool without contaminated rows"),
        ("training data digest", entry.data_digest),
    ]
    rows += [(f"optimizer, {key}", str(value)) for key, value in sorted(entry.optimizer.items())]
    return rows + [(f"version, {key}", value) for key, value in sorted(entry.versions.items())]


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {_plain(name)} | {_plain(value)} |" for name, value in rows]
    return "\n".join(["| what | value |", "|---|---|", *lines])


def _plain(text: str) -> str:
    """Return text on one line without control characters, in which nothing is markup."""
    shown = "".join(char if char.isprintable() else " " for char in str(text))
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#~$" else char for char in shown)
