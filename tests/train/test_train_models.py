"""Base models: seeded heads, labels, digests, and what cannot be loaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from train_support import save_bert

from auditkit.errors import OutputError, UsageError
from auditkit.study_records.settings import ModelSpec
from auditkit.train.folders import model_digest, tensors
from auditkit.train.models import Checkpoint, base_folder
from auditkit.train.stages import changed_names

HEAD = ("classifier.bias", "classifier.weight")


def test_the_same_seed_gives_the_same_head(spec: ModelSpec, base: Checkpoint, tmp_path: Path) -> None:
    again = base_folder(spec, 1, tmp_path / "again")
    assert changed_names(base.folder, again.folder) == ()
    assert again.digest == base.digest
    assert (again.folder / "model.safetensors").read_bytes() == (base.folder / "model.safetensors").read_bytes()


def test_another_seed_gives_another_head_and_nothing_else(spec: ModelSpec, base: Checkpoint, tmp_path: Path) -> None:
    other = base_folder(spec, 2, tmp_path / "other")
    assert changed_names(base.folder, other.folder) == ("classifier.weight",)
    assert other.digest != base.digest


def test_the_head_does_not_depend_on_the_global_generator(spec: ModelSpec, base: Checkpoint, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(99)
    torch.rand(7)
    state = torch.get_rng_state()
    again = base_folder(spec, 1, tmp_path / "again")
    assert again.digest == base.digest
    assert again.n_parameters == sum(values.size for _, values in tensors(base.folder))
    assert state.numel() == torch.get_rng_state().numel()


def test_a_base_is_a_plain_classifier_of_safe_and_flagged(base: Checkpoint) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(base.folder)
    assert model.config.id2label == {0: "safe", 1: "flagged"}
    assert base.head.startswith("new")
    assert AutoTokenizer.from_pretrained(base.folder)("bake a cake")["input_ids"][0] == 2


def test_a_finished_base_is_reused_and_another_one_refused(spec: ModelSpec, base: Checkpoint) -> None:
    assert base_folder(spec, 1, base.folder) == base
    with pytest.raises(OutputError, match="holds another base model or seed"):
        base_folder(spec, 2, base.folder)


def test_a_folder_of_something_else_is_refused(spec: ModelSpec, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"is no base model of auditkit's"):
        base_folder(spec, 1, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("labels", "head"),
    [
        ({0: "safe", 1: "unsafe"}, "kept"),
        ({0: "LABEL_0", 1: "LABEL_1"}, "kept"),
        ({0: "unsafe", 1: "safe"}, "new"),
        ({0: "apple", 1: "pear"}, "new"),
        ({0: "safe", 1: "toxic", 2: "hate"}, "new"),
    ],
)
def test_a_head_is_kept_only_where_its_labels_are_ours(tmp_path: Path, labels: dict[int, str], head: str) -> None:
    source = save_bert(tmp_path / "source", labels=labels)
    found = base_folder(ModelSpec("m", str(source)), 1, tmp_path / "base")
    assert found.head.startswith(head)
    was, now = dict(tensors(source)), dict(tensors(found.folder))
    same = was["classifier.weight"].shape == (2, 32) and np.array_equal(
        was["classifier.weight"], now["classifier.weight"]
    )
    assert same == (head == "kept")


def test_weights_that_lack_encoder_tensors_are_an_error(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    source = save_bert(tmp_path / "source")
    kept = {name: values for name, values in tensors(source) if "layer.1.output.dense" not in name}
    save_file(kept, source / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match="2 tensors of its encoder are not in its weights"):
        base_folder(ModelSpec("m", str(source)), 1, tmp_path / "base")


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    source = save_bert(tmp_path / "source")
    (source / "model.safetensors").rename(source / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"cannot be loaded.*safetensors"):
        base_folder(ModelSpec("m", str(source)), 1, tmp_path / "base")
    assert not (tmp_path / "base").exists()


def test_code_of_a_models_own_is_not_run(tmp_path: Path) -> None:
    source = save_bert(tmp_path / "source")
    config = json.loads((source / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.M"},
    }
    (source / "config.json").write_text(json.dumps(config))
    (source / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UsageError, match="cannot be loaded"):
        base_folder(ModelSpec("m", str(source)), 1, tmp_path / "base")
    assert not (tmp_path / "ran").exists()


def test_an_unknown_name_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model 'no-such/model' cannot be loaded") as caught:
        base_folder(ModelSpec("m", "no-such/model"), 1, tmp_path / "base")
    assert "\n" not in str(caught.value)


def test_the_digest_covers_weights_tokenizer_and_config(base: Checkpoint, tmp_path: Path) -> None:
    import shutil

    for change in ("vocabulary", "activation", "idle", "weights"):
        folder = tmp_path / change
        shutil.copytree(base.folder, folder)
        config = json.loads((folder / "config.json").read_text())
        if change == "vocabulary":
            text = (folder / "tokenizer.json").read_text()
            (folder / "tokenizer.json").write_text(text.replace('"bake"', '"baked"'))
        elif change == "weights":
            from safetensors.numpy import save_file

            values = dict(tensors(folder))
            values["classifier.bias"] = values["classifier.bias"] + 1
            save_file(values, folder / "model.safetensors", metadata={"format": "pt"})
        else:
            config |= {"hidden_act": "relu"} if change == "activation" else {"transformers_version": "0"}
            (folder / "config.json").write_text(json.dumps(config))
        assert (model_digest(folder) == base.digest) == (change == "idle"), change


def test_a_revision_that_would_not_be_read_is_refused(spec: ModelSpec, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder and has no revision 'v1'"):
        base_folder(ModelSpec("tiny", spec.source, "v1"), 1, tmp_path / "a")
    with pytest.raises(UsageError, match=r"'minilm' is read at revision 1110a243.*, not at 'v1'; leave the revision"):
        base_folder(ModelSpec("large", "minilm", "v1"), 1, tmp_path / "b")
