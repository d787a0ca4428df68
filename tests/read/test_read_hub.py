"""Hub names, without a network."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
from read_support import addresses, source_of

from auditkit.errors import BenchmarkError, InputError
from auditkit.read import open_pool, read_texts
from auditkit.read.hub import HubName, hub_fault, load_hub, parse_hub_name
from auditkit.read.remote import UnreachableError, hub_error
from auditkit.records import ReadSettings


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:org/name", HubName("org/name")),
        ("hf:squad", HubName("squad")),
        ("hf:org/name:cfg", HubName("org/name", "cfg")),
        ("hf:org/name:cfg:train", HubName("org/name", "cfg", "train")),
        ("hf:org/name::test@v1.0", HubName("org/name", "", "test", "v1.0")),
        ("hf:org/name@refs/pr/3", HubName("org/name", "", "", "refs/pr/3")),
    ],
)
def test_names(text: str, name: HubName) -> None:
    assert parse_hub_name(text) == name


@pytest.mark.parametrize("text", ["hf:", "hf:a/b/c", "hf:a b", "hf:x:a:b:c", "hf:x@", "hf:../x", "x/y", "hf:x\ny"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(InputError, match=r"not the name of a data set of the Hub; expected hf:org/name"):
        parse_hub_name(text)


def test_loaded_splits_are_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load(*args: Any, **kwargs: Any) -> Any:
        asked.append((args, kwargs))
        data = datasets.Dataset.from_dict({"text": ["a"]})
        return data if kwargs["split"] else datasets.DatasetDict(train=data, test=data)

    monkeypatch.setattr(datasets, "load_dataset", load)
    pool = open_pool("hf:org/name")
    assert [(source.name, source.location, source.relative) for source in pool.sources] == [
        ("train", "hf:org/name", ""), ("test", "hf:org/name", ""),
    ]  # fmt: skip
    assert all(source.digest.startswith("sha256:") for source in pool.sources)
    assert addresses(next(read_texts(pool.sources[0], ReadSettings())).texts) == [(0, "text", None, None, "a")]
    assert source_of("hf:org/name:cfg:test@v1").name == "test"
    assert asked[1] == (("org/name", "cfg"), {"split": "test", "revision": "v1"})
    two = open_pool(("hf:org/name::train", "hf:org/other::train"))
    assert [source.name for source in two.sources] == ["name/train", "other/train"]


class DatasetNotFoundError(Exception):
    pass


class RepositoryNotFoundError(Exception):
    pass


class GatedRepoError(RepositoryNotFoundError):
    pass


class AnswerError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__(f"Client Error for url: 401 403 404 gated dataset {status_code}")
        self.response = SimpleNamespace(status_code=status_code)


def because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (GatedRepoError("x"), "gated"),
        (because(DatasetNotFoundError("x"), GatedRepoError("x")), "gated"),
        (because(ValueError("x"), because(RepositoryNotFoundError("x"), AnswerError(401))), "gone"),
        (because(ValueError("x"), AnswerError(401)), "gated"),
        (AnswerError(403), "gated"),
        (AnswerError(404), "gone"),
        (AnswerError(500), "other"),
        (ConnectionError("a gated dataset, 401"), "unreachable"),
        (TimeoutError(), "unreachable"),
        (OSError(28, "No space left on device"), "other"),
        (PermissionError(13, "Permission denied: a gated repo"), "other"),
        (ValueError("Config name is missing.\nPick one"), "configuration"),
        (ValueError("'org/a gated dataset' has no split 401"), "other"),
    ],
)
def test_failures_are_told_apart_by_type_and_answer_not_by_words(error: Exception, fault: str) -> None:
    assert hub_fault(error) == fault
    assert type(hub_error(error, HubName("a/b"))) is (UnreachableError if fault == "unreachable" else BenchmarkError)


def test_one_cause_may_stand_in_a_ring() -> None:
    error = because(ValueError("a"), ValueError("b"))
    assert error.__cause__ is not None
    error.__cause__.__cause__ = error
    assert hub_fault(error) == "other"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionError("Couldn't reach 'org/name' on the Hub (LocalEntryNotFoundError)\nmore"),
         "hf:org/name: not in the cache, and the Hub cannot be reached (Couldn't reach 'org/name' on the Hub "
         "(LocalEntryNotFoundError)); connect to the network once, or fetch it elsewhere "
         "(hf download --repo-type dataset org/name --local-dir DIR) and name DIR instead"),
        (because(DatasetNotFoundError("Dataset 'org/name' is a gated dataset on the Hub."), GatedRepoError("403")),
         "hf:org/name: access is gated (Dataset 'org/name' is a gated dataset on the Hub.); ask for access on its Hub "
         "page, then log in with: hf auth login"),
        (DatasetNotFoundError("Dataset 'org/name' doesn't exist on the Hub or cannot be accessed."),
         "hf:org/name: no such data set or revision, or it is private (Dataset 'org/name' doesn't exist on the Hub or "
         "cannot be accessed.); check the name, or log in with: hf auth login"),
        (ValueError("Config name is missing.\nPlease pick one among the available configs: ['a', 'b']"),
         "hf:org/name: it has several configurations (Config name is missing. Please pick one among the available "
         "configs: ['a', 'b']); add one: hf:org/name:CONFIG"),
        (RuntimeError("Dataset scripts are no longer supported"),
         "hf:org/name: `datasets` cannot load it (Dataset scripts are no longer supported); check configuration, split "
         "and revision, or name its files instead"),
    ],
)  # fmt: skip
def test_every_failure_says_what_to_do(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: Any, **kwargs: Any) -> Any:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(InputError) as raised:
        load_hub("hf:org/name")
    assert str(raised.value) == said


def test_without_a_network_and_a_cache() -> None:
    with pytest.raises(
        InputError, match=r"hf:no-such-org/no-such-set: not in the cache, and the Hub cannot be reached"
    ):
        open_pool("hf:no-such-org/no-such-set")


def test_reading_a_file_does_not_import_datasets(tmp_path: Any) -> None:
    import subprocess

    path = tmp_path / "p.jsonl"
    path.write_text('{"text": "a"}\n')
    code = (
        "import sys; from auditkit.read import open_pool, read_texts; from auditkit.records import ReadSettings; "
        f"[list(read_texts(s, ReadSettings())) for s in open_pool({str(path)!r}).sources]; "
        "sys.exit(' '.join(m for m in ('datasets', 'torch', 'transformers', 'pandas') if m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == ""
