"""Generative guards (Llama Guard style) by their verdict token: P(unsafe) / (P(safe) + P(unsafe)). No sampling."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditkit.errors import UsageError
from auditkit.train.loading import device, load_tokenizer, one_line, quiet, require_training, seeded, token_limit
from auditkit.train.score import flagged_probability

#: Stands for the prompt in a template.
SLOT = "{prompt}"
_MARK = "auditkit7prompt3goes9here"


@dataclass(frozen=True)
class VerdictScores:
    """Scores of a generative guard.

    Attributes:
        probabilities: P(unsafe) / (P(safe) + P(unsafe)), float64 [n].
        logits: of the safe and the unsafe token, float64 [n, 2].
        verdict_mass: P(safe) + P(unsafe) among all tokens, float64 [n]; near 0 the template is wrong for this guard.
        n_truncated: prompts cut so that the template fits around them.
        template_digest: sha256 of what stands before and after the prompt, and of the verdict words.
        tokens: the safe and the unsafe token, as text.
    """

    probabilities: NDArray[np.float64]
    logits: NDArray[np.float64]
    verdict_mass: NDArray[np.float64]
    n_truncated: int
    template_digest: str
    tokens: tuple[str, str]


@dataclass(frozen=True)
class Template:
    """What a guard reads around a prompt: `before`, the prompt, `after`; then it answers with one of two words.

    For guards whose answers begin with newlines (Llama Guard 3 and 4), `after` must end with these newlines.
    """

    before: str
    after: str
    safe: str = "safe"
    unsafe: str = "unsafe"

    @property
    def digest(self) -> str:
        """Return "sha256:..." of all four parts."""
        parts = "\0".join((self.before, self.after, self.safe, self.unsafe))
        return f"sha256:{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()}"


def score_generative(
    model: Path | str,
    texts: Sequence[str],
    *,
    max_tokens: int,
    template: Template | None = None,
    batch_size: int = 16,
    revision: str = "",
) -> VerdictScores:
    """Return the scores of `texts` by a causal language model that answers "safe" or "unsafe".

    Only rows of one length share a batch, so nothing is padded. fp32 on the CPU; on a GPU the model's own dtype.

    Args:
        max_tokens: of template and prompt together; only the prompt is cut.
        template: the tokenizer's chat template around one user turn where None.

    Raises:
        UsageError: the model cannot be loaded, has no template, or its two verdicts begin with the same token.
    """
    require_training("a generative guard")
    source = str(model)
    tokenizer = load_tokenizer(source, revision)
    guard = _load(source, revision)
    template = template or chat_template(tokenizer, source)
    verdicts = _verdict_tokens(tokenizer, template, source)
    rows, n_truncated = _rows(tokenizer, guard, template, texts, max_tokens, source)
    logits, mass = _last_logits(guard, rows, verdicts, batch_size)
    names = tuple(tokenizer.convert_ids_to_tokens(list(verdicts)))
    return VerdictScores(flagged_probability(logits), logits, mass, n_truncated, template.digest, (names[0], names[1]))


def template_from_text(text: str, safe: str = "safe", unsafe: str = "unsafe") -> Template:
    """Return the template written as text in which {prompt} stands once.

    Raises:
        UsageError: {prompt} stands in it not once.
    """
    if text.count(SLOT) != 1:
        raise UsageError(f"the template holds {SLOT} {text.count(SLOT)} times, expected once")
    before, _, after = text.partition(SLOT)
    return Template(before, after, safe, unsafe)


def chat_template(tokenizer: Any, source: str) -> Template:
    """Return the tokenizer's chat template around one user turn, ready for the answer.

    Raises:
        UsageError: it has none, or does not hold the prompt exactly once.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(f"model '{source}' has no chat template; give a template with {SLOT} in it")
    turns = [{"role": "user", "content": _MARK}]
    with one_line(source):
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    if text.count(_MARK) != 1:
        raise UsageError(f"the chat template of model '{source}' holds the prompt {text.count(_MARK)} times, not once")
    before, _, after = text.partition(_MARK)
    return Template(before, after)


def _load(source: str, revision: str) -> Any:
    from transformers import AutoModelForCausalLM

    with quiet(), one_line(source):
        model = AutoModelForCausalLM.from_pretrained(
            source, revision=revision or None, use_safetensors=True, trust_remote_code=False
        )
    where = device()
    return (model.float() if where == "cpu" else model).to(where).eval()


def _ids(tokenizer: Any, text: str, *, is_prompt: bool = False) -> list[int]:
    if not text:
        return []
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=is_prompt, verbose=False)["input_ids"]
    return list(ids)


def _verdict_tokens(tokenizer: Any, template: Template, source: str) -> tuple[int, int]:
    """Return the first token of each verdict as it follows the template."""
    before = _ids(tokenizer, template.after)
    found = []
    for word in (template.safe, template.unsafe):
        ids = _ids(tokenizer, template.after + word)
        alone = _ids(tokenizer, word)
        follows = len(ids) > len(before) and ids[: len(before)] == before
        if not (follows or alone):
            raise UsageError(f"model '{source}': its tokenizer has no token for the verdict '{word}'")
        found.append(ids[len(before)] if follows else alone[0])
    if found[0] == found[1]:
        raise UsageError(
            f"model '{source}': the verdicts '{template.safe}' and '{template.unsafe}' begin with the same token; name "
            "verdict words that differ in their first token"
        )
    return found[0], found[1]


def _rows(
    tokenizer: Any, guard: Any, template: Template, texts: Sequence[str], max_tokens: int, source: str
) -> tuple[list[list[int]], int]:
    """Return token ids of template and prompt, and how many prompts were cut."""
    before, after = _ids(tokenizer, template.before), _ids(tokenizer, template.after)
    limit = token_limit(guard, tokenizer)
    room = max_tokens - len(before) - len(after)
    if max_tokens > limit or room < 1:
        raise UsageError(
            f"max_tokens is {max_tokens}; model '{source}' reads up to {limit}, and its template alone takes "
            f"{len(before) + len(after)}"
        )
    special = [token for token in tokenizer.all_special_tokens if token]
    rows, n_truncated = [], 0
    for text in texts:
        whole = _ids(tokenizer, template.before + text + template.after)
        if len(whole) <= max_tokens and not any(token in text for token in special):
            rows.append(whole or [tokenizer.pad_token_id])
            continue
        # A prompt that writes out a special token could end its turn: its pieces are tokenised apart, as characters.
        prompt = _ids(tokenizer, text, is_prompt=True)
        n_truncated += len(prompt) > room
        rows.append(before + prompt[:room] + after)
    return rows, n_truncated


def _last_logits(
    guard: Any, rows: list[list[int]], verdicts: tuple[int, int], batch_size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two verdict tokens' logits and their joint probability, after the last token of each row."""
    import torch

    logits, mass = np.zeros((len(rows), 2), np.float64), np.zeros(len(rows), np.float64)
    takes_last = "logits_to_keep" in inspect.signature(guard.forward).parameters
    options: dict[str, Any] = {"logits_to_keep": 1} if takes_last else {}
    with seeded(0), torch.inference_mode():
        for batch in _equal_batches(rows, batch_size):
            ids = torch.tensor([rows[i] for i in batch], device=guard.device)
            last = guard(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **options).logits[:, -1]
            last = last.double()
            logits[batch] = last[:, list(verdicts)].cpu().numpy()
            mass[batch] = torch.softmax(last, dim=-1)[:, list(verdicts)].sum(dim=-1).cpu().numpy()
    return logits, mass


def _equal_batches(rows: Sequence[Sequence[int]], batch_size: int) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(len(row), []).append(i)
    return [
        groups[length][i : i + batch_size]
        for length in sorted(groups, reverse=True)
        for i in range(0, len(groups[length]), batch_size)
    ]
