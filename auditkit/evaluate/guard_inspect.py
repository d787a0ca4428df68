r"""Inspect eval logs as records in long form.

The accepted shape (inspect_ai's EvalLog, written as .json, or .eval with one JSON file a sample): an object with
`eval` (`task` names the set, `model` the guard) and `samples`, each with `id`, `epoch`, `target`, `scores` (scorer ->
{value, answer, metadata}), and, where it failed, `error` or `limit`. What a guard said is taken from the first that is
there:

1. keys score / unsafe_score / p_unsafe / probability and decision / unsafe_label / flagged of the score's `value`
   (where that is a mapping), or of its `metadata`;
2. `answer`, where it is a verdict such as "unsafe" or "safe";
3. `value`, where it grades the answer as Inspect does: "C" (correct) is the target, "I" (incorrect) the other label,
   "N" (no answer) is refused. With `value_is="score"` a number there is P(flag).

A sample with an error is `error`, one stopped by a limit or cut at max_tokens without an answer is `truncated`, a
filtered one `refused`, and one that no rule reads is `unparsed`.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from auditkit.errors import BadRecordError, InputError, UsageError, nearest
from auditkit.evaluate.guard_rows import ALIASES, VERDICTS

VALUE_IS = ("correct", "score")
_GRADES = {"C": True, "I": False}


def is_inspect_log(content: object) -> bool:
    """Return whether a parsed JSON file is an Inspect eval log."""
    return isinstance(content, dict) and "eval" in content and isinstance(content.get("samples", []), list)


def read_eval_file(path: Path) -> dict[str, Any]:
    """Return the log of an .eval file (a zip archive of header.json and samples/*.json).

    Raises:
        InputError: the archive is broken, or compressed in a way that this Python cannot read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if re.fullmatch(r"samples/.*\.json", name))
            header = json.loads(archive.read("header.json"))
            return {"eval": header.get("eval", {}), "samples": [json.loads(archive.read(name)) for name in names]}
    except (zipfile.BadZipFile, KeyError, NotImplementedError, ValueError, AttributeError) as exc:
        raise InputError(
            f"{path}: not an Inspect log that can be read ({exc}); convert it with: inspect log convert --to json"
        ) from None
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror})") from None


def inspect_records(
    log: Mapping[str, Any], location: str, scorer: str = "", value_is: str = "correct"
) -> Iterator[dict[str, Any]]:
    """Yield one record a sample: id, epoch, model, set, expected, score, decision, status.

    Raises:
        UsageError: several scorers and none is named, or an unknown `scorer` or `value_is`.
        BadRecordError: a sample without an id, or a number where a grade was expected.
    """
    if value_is not in VALUE_IS:
        raise UsageError(f"value_is={value_is!r}; expected one of {', '.join(VALUE_IS)}{nearest(value_is, VALUE_IS)}")
    about = log.get("eval") or {}
    shared = {"model": about.get("model"), "set": about.get("task")}
    samples = log.get("samples") or []
    if not samples:
        raise InputError(f"{location}: an Inspect log without samples; write it with its samples, not headers only")
    chosen = _scorer(samples, location, scorer)
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict) or sample.get("id") is None:
            raise BadRecordError(location, number, "a sample without id; expected an Inspect EvalSample")
        expected = _verdict(sample.get("target"))
        score = (sample.get("scores") or {}).get(chosen) or {}
        said = _said(score, expected, location, number, value_is)
        status = _status(sample, score, said)
        own = {"id": sample["id"], "epoch": sample.get("epoch", 0), "expected": expected, "status": status}
        yield {**own, **shared, **said}


def _scorer(samples: list[Any], location: str, scorer: str) -> str:
    names = list(dict.fromkeys(name for s in samples if isinstance(s, dict) for name in (s.get("scores") or {})))
    if scorer and scorer not in names:
        raise UsageError(f"{location}: no scorer {scorer!r}; there are {', '.join(names)}{nearest(scorer, names)}")
    if not scorer and len(names) > 1:
        raise UsageError(f"{location}: several scorers ({', '.join(names)}); name one with scorer=...")
    return scorer or (names[0] if names else "")


def _said(score: Mapping[str, Any], expected: int | None, location: str, number: int, value_is: str) -> dict[str, Any]:
    """Return the guard's score and decision, None where no rule reads them."""
    value = score.get("value")
    for place in (value, score.get("metadata")):
        if isinstance(place, Mapping):
            found = {meaning: _first(place, ALIASES[meaning]) for meaning in ("score", "decision")}
            if any(part is not None for part in found.values()):
                return found
    answer = _verdict(score.get("answer"))
    if answer is not None:
        return {"score": None, "decision": answer}
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    if value_is == "score":
        return {"score": value if is_number else None, "decision": None}
    if is_number and value not in (0, 1):
        reason = f"score value {value!r} may be P(flag) or a grade; say which with value_is='score' or 'correct'"
        raise BadRecordError(location, number, reason)
    is_right = bool(value) if is_number else _GRADES.get(str(value))
    known = is_right is not None and expected is not None
    return {"score": None, "decision": (expected if is_right else 1 - (expected or 0)) if known else None}


def _first(place: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((place[name] for name in names if place.get(name) is not None), None)


def _verdict(value: Any) -> int | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return None if value is None else VERDICTS.get(str(value).strip().casefold())


def _status(sample: Mapping[str, Any], score: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    if sample.get("error"):
        return "error"
    if any(part is not None for part in said.values()):
        return "ok"
    choices = (sample.get("output") or {}).get("choices") or [{}]
    stopped = choices[0].get("stop_reason") if isinstance(choices[0], Mapping) else None
    if sample.get("limit") or stopped in ("max_tokens", "model_length"):
        return "truncated"
    return "refused" if stopped == "content_filter" or score.get("value") == "N" else "unparsed"
