"""Which parameters a stage changes: declared by name before it starts, counted, and checked against what changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from auditkit.errors import UsageError
from auditkit.study_records.settings import Trainable
from auditkit.train.loading import quiet
from auditkit.train.models import head_names

_NORMS = ("LayerNorm", "RMSNorm")


@dataclass(frozen=True)
class Declared:
    """What a stage may change.

    Attributes:
        names: tensors of the plain checkpoint that may differ after the stage.
        modules: the linear modules that an adapter is set on, () without one.
        n_trainable: parameters that are trained (an adapter's own, not those of the matrices it is merged into).
        n_parameters: all parameters of the model.
    """

    names: tuple[str, ...]
    modules: tuple[str, ...]
    n_trainable: int
    n_parameters: int

    @property
    def share(self) -> float:
        """Return the trained share of the parameters, in [0, 1]."""
        return self.n_trainable / self.n_parameters


def declared_names(model: Any, trainable: Trainable) -> Declared:
    """Return what a stage with `trainable` may change in `model`.

    `layers` narrows every part but the head to those encoder layers. IA3 scales the outputs of its targets, and the
    inputs of those that narrow (the feed-forward's second matrix), as Liu et al. 2022 do.

    Raises:
        UsageError: nothing would be trained; the message names what there is.
    """
    parameters = dict(model.named_parameters())
    head = list(head_names(model))
    if trainable.part in ("lora", "ia3"):
        modules = _targets(model, trainable)
        count = sum(_adapter_size(model.get_submodule(name), trainable) for name in modules)
        body = [name for module in modules for name in _merged(model, module, trainable)]
    else:
        modules = []
        body = [name for name in _plain(model, trainable, set(head)) if _in_layers(name, trainable)]
        count = sum(parameters[name].numel() for name in body)
    if trainable.part != "head" and not body:
        raise UsageError(f"trainable part {trainable.part} with layers {list(trainable.layers)} selects no parameter")
    kept = head if trainable.is_head_trained or trainable.part in ("head", "full") else []
    count += sum(parameters[name].numel() for name in kept)
    total = sum(parameter.numel() for parameter in parameters.values())
    return Declared(tuple(sorted({*body, *kept})), tuple(modules), count, total)


def describe(declared: Declared, trainable: Trainable) -> str:
    """Return one line: "lora rank 1 on query, value of layers 2, 3: 6,144 of 22,713,986 parameters (0.0270 %)"."""
    what: str = trainable.part
    if what == "lora":
        what += f" rank {trainable.rank}"
    if what != "head" and trainable.part in ("lora", "ia3"):
        what += f" on {', '.join(trainable.targets)}"
    if trainable.layers and trainable.part != "head":
        what += f" of layers {', '.join(map(str, trainable.layers))}"
    if trainable.is_head_trained and trainable.part not in ("head", "full"):
        what += " and the head"
    return f"{what}: {declared.n_trainable:,} of {declared.n_parameters:,} parameters ({declared.share * 100:.4f} %)"


def set_trainable(model: Any, trainable: Trainable, declared: Declared) -> Any:
    """Return the model ready to be trained: adapters set where they are asked for, everything undeclared frozen.

    Raises:
        RuntimeError: peft would train another number of parameters than was declared (a defect of auditkit).
    """
    if trainable.part in ("lora", "ia3"):
        with quiet():
            model = _with_adapter(model, trainable, declared)
    else:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in declared.names)
    count = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    if count != declared.n_trainable:
        raise RuntimeError(f"{count} parameters would be trained, {declared.n_trainable} are declared")
    return model


def _with_adapter(model: Any, trainable: Trainable, declared: Declared) -> Any:
    from peft import IA3Config, LoraConfig, get_peft_model

    modules = list(declared.modules)
    heads = sorted({name.split(".")[0] for name in head_names(model)}) if trainable.is_head_trained else None
    if trainable.part == "lora":
        alpha = trainable.alpha
        return get_peft_model(
            model, LoraConfig(r=trainable.rank, lora_alpha=alpha, target_modules=modules, modules_to_save=heads)
        )
    narrowing = [name for name in modules if _narrows(model.get_submodule(name))]
    return get_peft_model(
        model, IA3Config(target_modules=modules, feedforward_modules=narrowing, modules_to_save=heads)
    )


def _targets(model: Any, trainable: Trainable) -> list[str]:
    heads = {name.split(".")[0] for name in head_names(model)}
    linear = [name for name in _linear_modules(model) if name.split(".")[0] not in heads]
    if trainable.part == "lora" and trainable.rank < 1:
        raise UsageError(f"LoRA rank is {trainable.rank}; a rank is 1 or more")
    found = [name for name in linear if _ends(name, trainable.targets) and _in_layers(name, trainable)]
    if not found:
        ends = sorted({name.rsplit(".", 1)[-1] for name in linear})
        numbers = sorted({n for name in linear if (n := _layer(name)) is not None})
        raise UsageError(
            f"targets {list(trainable.targets)} with layers {list(trainable.layers) or 'all'} match no linear module; "
            f"modules end with {', '.join(ends)}, layers are {numbers[0] if numbers else 'none'} to "
            f"{numbers[-1] if numbers else 'none'}"
        )
    return found


def _linear_modules(model: Any) -> Iterator[str]:
    import torch

    yield from (name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear))


def _plain(model: Any, trainable: Trainable, head: set[str]) -> Iterable[str]:
    names = [name for name, _ in model.named_parameters() if name not in head]
    if trainable.part == "full":
        return names
    if trainable.part == "bias":
        return [name for name in names if name.endswith("bias")]
    if trainable.part == "layer_norm":
        norms = [name for name, module in model.named_modules() if type(module).__name__.endswith(_NORMS)]
        return [name for name in names if name.rsplit(".", 1)[0] in set(norms)]
    return []


def _adapter_size(module: Any, trainable: Trainable) -> int:
    n_in, n_out = int(module.in_features), int(module.out_features)
    if trainable.part == "lora":
        return trainable.rank * (n_in + n_out)
    return n_in if _narrows(module) else n_out


def _merged(model: Any, module: str, trainable: Trainable) -> Iterator[str]:
    """Yield the tensors that merging an adapter into a linear module changes."""
    yield f"{module}.weight"
    linear = model.get_submodule(module)
    if trainable.part == "ia3" and not _narrows(linear) and linear.bias is not None:
        yield f"{module}.bias"


def _narrows(linear: Any) -> bool:
    return bool(linear.in_features > linear.out_features)


def _ends(name: str, targets: tuple[str, ...]) -> bool:
    return any(name == target or name.endswith(f".{target}") for target in targets)


def _layer(name: str) -> int | None:
    found = re.search(r"\.(\d+)\.", name)
    return int(found[1]) if found else None


def _in_layers(name: str, trainable: Trainable) -> bool:
    return not trainable.layers or _layer(name) in trainable.layers
