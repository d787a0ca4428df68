"""What an inspection is asked to do, and the tokenizer by which a model's truncation is counted."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass, field
from typing import Any

from auditkit import tables
from auditkit.errors import MissingExtraError, UsageError
from auditkit.inspection import Limits
from auditkit.stories.near import FamilySettings
from auditkit.study_records.settings import ModelSpec
from auditkit.train.loading import load_tokenizer, token_rows
from auditkit.train.models import locate

#: A tokenizer that states no limit states a number beyond this one.
_NO_LIMIT = 10**9
#: What frames of rows have beside labels.
_RESERVED = frozenset({*tables.INSPECTED, "text", "cell", "n_letters", "is_mixed", "has_mojibake", "has_replacement"})


@dataclass(frozen=True)
class InspectSettings:
    """What an inspection does.

    Attributes:
        near: what is read of the pool, and what makes two rows near.
        source_column: rows are told apart by its value, else by the pool's sources.
        families: whether near-duplicates and conflicting labels are looked for: the part that needs memory for the
            whole pool's prompts.
        long_tokens: rows of more tokens of auditkit's normalisation (words, about) are flagged `long`.
        tokenizer: "minilm", a folder, or a Hub name: a model's tokenizer counts what it would cut off.
        max_tokens: tokens that the model reads; None takes the tokenizer's own limit. Without a tokenizer auditkit's
            tokens are compared with it.
    """

    near: FamilySettings = field(default_factory=FamilySettings)
    source_column: str = ""
    families: bool = True
    long_tokens: int = 2_000
    tokenizer: str = ""
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("long_tokens", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}, expected a whole number from 1")
        for rule in self.near.read.labels:
            if rule.policy in _RESERVED:
                raise UsageError(
                    f"policy '{rule.policy}' has the name of something that is written of each row; name it otherwise: "
                    f"--label NAME={rule.column}"
                )

    def check_benchmarks(self, benchmarks: Any) -> None:
        """Raise UsageError where benchmarks were given, and no labels of the pool to compare theirs with."""
        if benchmarks is not None and not self.near.read.labels:
            raise UsageError("benchmarks are given to compare labels with, and no labels: name them, --label P=COLUMN")


def limits_of(settings: InspectSettings) -> Limits:
    """Return what is too long, by the model's tokenizer where one was named.

    Raises:
        MissingExtraError: the extra `embed` is not installed.
        UsageError: the tokenizer cannot be loaded, or states no limit and none was given.
    """
    if not settings.tokenizer:
        return Limits(settings.long_tokens, settings.max_tokens)
    if importlib.util.find_spec("transformers") is None:
        raise MissingExtraError(f"the tokenizer '{settings.tokenizer}'", "embed")
    source, revision, _ = locate(ModelSpec(settings.tokenizer, settings.tokenizer))
    tokenizer = load_tokenizer(source, revision)
    most = settings.max_tokens or int(tokenizer.model_max_length)
    if most >= _NO_LIMIT:
        raise UsageError(f"tokenizer '{settings.tokenizer}' states no limit; give max_tokens (--max-tokens N)")
    return Limits(settings.long_tokens, most, lambda texts: [len(row) for row in token_rows(tokenizer, texts)])


def as_plain(settings: InspectSettings, limits: Limits) -> dict[str, Any]:
    """Return the settings as plain values; `max_tokens` is the limit in force."""
    read = settings.near.read
    return {
        "fields": list(read.fields),
        "roles": list(read.roles),
        "labels": [asdict(rule) for rule in read.labels],
        "id_column": read.id_column,
        "bad_rows": read.bad_rows,
        "source_column": settings.source_column,
        "families": settings.families,
        "join_numbers": settings.near.join_numbers,
        "max_texts": settings.near.max_texts,
        "long_tokens": settings.long_tokens,
        "tokenizer": settings.tokenizer,
        "max_tokens": limits.max_tokens,
    }
