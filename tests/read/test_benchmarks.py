"""open_benchmarks: specs, column choice, labels, slices, checks against the registry, errors in one line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from auditkit.errors import AuditkitError, BadRecordError, BenchmarkError, FieldError, InputError, UsageError
from auditkit.read import benchmarks as module
from auditkit.read.assemble import item_records
from auditkit.read.benchmarks import open_benchmarks, parse_spec
from auditkit.read.hub import HubName
from auditkit.read.remote import UnreachableError, gated_error, hub_error
from auditkit.records import Benchmark
from auditkit.tables import ITEMS

QUESTIONS = ["How tall is a giraffe?", "Who wrote this song?", "Wie hoch ist der Turm?"]


def write_jsonl(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def write_csv(path: Path, columns: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([columns, *rows])
    return path


def one(spec: Any, **options: Any) -> Benchmark:
    (benchmark,) = open_benchmarks(spec, **options)
    return benchmark


def error(kind: type[AuditkitError], spec: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        open_benchmarks(spec, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- files


def test_a_file_is_named_by_its_stem_and_has_the_declared_frame(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "my bench.jsonl", [{"id": f"q{i}", "prompt": t} for i, t in enumerate(QUESTIONS)])
    benchmark = one(str(path))
    assert benchmark.name == "my bench"
    assert dict(benchmark.items.schema) == ITEMS
    assert benchmark.items.rows() == [
        ("my bench", i, f"q{i}", None, "prompt", "question", text, None) for i, text in enumerate(QUESTIONS)
    ]
    assert benchmark.n_items == 3
    assert not benchmark.is_registered
    assert benchmark.source.location == str(path)
    assert benchmark.source.digest.startswith("sha256:")
    assert benchmark.notes == ("columns read by their names: prompt (question)",)


def test_every_format_gives_the_same_items(tmp_path: Path) -> None:
    records = [{"prompt": text} for text in QUESTIONS]
    write_jsonl(tmp_path / "a.jsonl", records)
    (tmp_path / "b.json").write_text(json.dumps(records), encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    write_csv(tmp_path / "d.csv", ["prompt"], [[text] for text in QUESTIONS])
    pl.DataFrame(records).write_parquet(tmp_path / "e.parquet")
    (tmp_path / "f.txt").write_text("\n".join(QUESTIONS) + "\n", encoding="utf-8")
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    opened = open_benchmarks(sorted(tmp_path.iterdir()))
    assert [benchmark.name for benchmark in opened] == list("abcdefg")
    assert all(benchmark.items["text"].to_list() == QUESTIONS for benchmark in opened)


def test_a_saved_dataset_and_a_saved_dict_of_splits(tmp_path: Path) -> None:
    import datasets

    dataset = datasets.Dataset.from_dict({"prompt": QUESTIONS})
    dataset.save_to_disk(tmp_path / "saved")
    datasets.DatasetDict({"test": dataset}).save_to_disk(tmp_path / "one_split")
    datasets.DatasetDict({"test": dataset, "dev": dataset}).save_to_disk(tmp_path / "two_splits")
    assert one(tmp_path / "saved").n_items == 3
    assert (one(tmp_path / "one_split").name, one(tmp_path / "one_split").n_items) == ("one_split", 3)
    assert "splits dev, test; name one" in error(BenchmarkError, tmp_path / "two_splits")
    assert one(f"mine={tmp_path / 'two_splits' / 'dev'}").name == "mine"


def test_items_without_text_stay_in_the_denominator(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "b.jsonl", [{"prompt": "one"}, {"prompt": None}, {"prompt": " \n"}, {"id": 4}, {"prompt": "!"}]
    )
    benchmark = one(path)
    assert benchmark.n_items == 5
    assert benchmark.items["item"].to_list() == [0, 4]
    assert "3 of 5 items have no text" in benchmark.notes


def test_numbers_in_a_text_column_are_counted_not_dropped(tmp_path: Path) -> None:
    benchmark = one(write_jsonl(tmp_path / "b.jsonl", [{"prompt": "one"}, {"prompt": 7}]))
    assert benchmark.n_items == 2
    assert benchmark.items.height == 1
    assert "not parts of items: field prompt not text (1)" in benchmark.notes


@pytest.mark.parametrize("script", ["これは質問です", "ما هو الطول؟", "ขอความช่วยเหลือ", "👍🏽"])
def test_other_scripts_are_read_as_they_stand(tmp_path: Path, script: str) -> None:
    assert one(write_jsonl(tmp_path / "b.jsonl", [{"question": script}])).items["text"].to_list() == [script]


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ({"Goal": "g", "Target": "Sure, here is", "Behavior": "b"}, {"Goal": "question"}),
        ({"goal": "g", "target": "Sure, here is"}, {"goal": "question"}),
        ({"Behavior": "b", "ContextString": "c", "BehaviorID": "x"},
         {"Behavior": "question", "ContextString": "context"}),
        ({"question": "q", "answer": "a"}, {"question": "question", "answer": "answer"}),
        ({"question": "q", "choices": ["a", "b"], "answer": 1}, {"question": "question"}),
        ({"instruction": "i", "input": "c", "output": "o"}, {"instruction": "question", "input": "context"}),
        ({"prompt": "p", "canonical_solution": "s"}, {"prompt": "question", "canonical_solution": "answer"}),
        ({"prompt": "p", "completion": "c"}, {"prompt": "question"}),
        ({"forbidden_prompt": "f", "source": "s"}, {"forbidden_prompt": "question"}),
        ({"user_question": "q", "other": "o"}, {"user_question": "question"}),
        ({"question_answer": "a", "user_prompt": "p", "prompt_id": "x"}, {"user_prompt": "question"}),
        ({"prompt_en": "e", "prompt_zh": "z"}, {"prompt_en": "question", "prompt_zh": "question"}),
        ({"zzz": "the only text", "n": 3}, {"zzz": "question"}),
        ({"PROMPT": "p", "Context": "c"}, {"PROMPT": "question", "Context": "context"}),
    ],
)  # fmt: skip
def test_columns_are_chosen_by_their_names(record: dict[str, Any], parts: dict[str, str]) -> None:
    items = one(("b", [record])).items
    assert dict(zip(items["part"], items["kind"], strict=True)) == parts


def test_what_is_not_read_is_said() -> None:
    (note,) = one(("b", [{"Goal": "g", "Target": "t"}])).notes
    assert note == "columns read by their names: Goal (question); not read: Target"


def test_an_unclear_choice_lists_the_columns(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "b.jsonl", [{"en": "a", "zh": "b"}])
    assert "(columns: en, zh)" in error(FieldError, path)
    assert one(f"{path}::EN,zh").items["part"].to_list() == ["en", "zh"]


def test_columns_can_be_forced(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "b.jsonl", [{"prompt": "p", "completion": "c", "passage": "x"}])
    items = one(f"mine={path}::completion,passage,prompt").items
    assert items["kind"].to_list() == ["answer", "context", "question"]
    assert "did you mean 'prompt'? (columns: prompt, completion, passage)" in error(FieldError, f"{path}::promt")
    assert "expected PATH::COLUMN" in error(BenchmarkError, f"{path}::a,")


def test_chats_give_their_user_turns() -> None:
    chat = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello there"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "and again"}]},
    ]
    benchmark = one(("b", [{"messages": chat}, {"messages": chat[1:2]}]))
    assert benchmark.items.select("item", "part", "text").rows() == [
        (0, "messages[1].content", "hello there"),
        (0, "messages[3].content[0].text", "and again"),
        (1, "messages[0].content", "hello there"),
    ]
    assert any("excluded role system (1)" in note for note in benchmark.notes)


def test_a_list_of_strings_in_a_column_gives_a_part_each() -> None:
    items = one(("b", [{"turns": ["first", "second"]}])).items
    assert items.select("part", "kind").rows() == [("turns[0]", "question"), ("turns[1]", "question")]


# ---------------------------------------------------------------- labels


def test_an_id_that_is_a_text_is_a_digest() -> None:
    ids = one([{"id": "q" * 201, "question": "who?"}, {"id": "q" * 200, "question": "why?"}]).items["item_id"].to_list()
    assert ids == ["sha256:" + hashlib.sha256(b"q" * 201).hexdigest()[:16], "q" * 200]


@pytest.mark.parametrize(
    ("column", "values", "labels"),
    [
        ("label", ["safe", "Unsafe", None], [0, 1, None]),
        ("expected", [1, 0, ""], [1, 0, None]),
        ("is_harmful", [True, False, None], [1, 0, None]),
        ("is_safe", [True, False, None], [0, 1, None]),
        ("label", ["sports", "safe", "safe"], [None, None, None]),
        ("expected", ["18", "3", "7"], [None, None, None]),
    ],
)
def test_labels_by_their_usual_names(column: str, values: list[Any], labels: list[int | None]) -> None:
    benchmark = one(("b", [{"prompt": "p", column: value} for value in values]))
    assert benchmark.items["label"].to_list() == labels
    assert any("labels read" in note for note in benchmark.notes) == any(label is not None for label in labels)


def test_a_missing_moderation_flag_is_unknown_not_zero() -> None:
    zeros = dict.fromkeys(["S", "H", "V", "HR", "SH", "S3", "H2", "V2"], 0)
    records = [
        {"prompt": "all known", **zeros},
        {"prompt": "one missing", **{key: 0 for key in zeros if key != "H"}},
        {"prompt": "one flag", "S": 1},
    ]
    with pytest.raises(BenchmarkError, match=r"3 items, expected 1,680"):
        open_benchmarks({"openai-moderation": records})
    assert one({"openai-moderation": records * 560}).items["label"].to_list() == [0, None, 1] * 560


# ---------------------------------------------------------------- registered names on a file


HARMBENCH = ["Behavior", "FunctionalCategory", "SemanticCategory", "Tags", "ContextString", "BehaviorID"]


def harmbench(path: Path, per_class: tuple[int, int, int] = (200, 100, 100)) -> Path:
    rows = []
    for kind, count in zip(("standard", "contextual", "copyright"), per_class, strict=True):
        rows += [
            [f"{kind} {i}", kind, "topic", "", f"text {i}" if kind == "contextual" else "", f"{kind}-{i}"]
            for i in range(count)
        ]
    return write_csv(path, HARMBENCH, rows)


def test_a_registered_name_has_its_file_checked(tmp_path: Path) -> None:
    path = harmbench(tmp_path / "file.csv")
    benchmark = one(f"HarmBench={path}")
    assert (benchmark.name, benchmark.n_items, benchmark.klass, benchmark.is_registered) == (
        "harmbench",
        400,
        "harmful",
        True,
    )
    assert benchmark.licence == "MIT"
    assert benchmark.unit.startswith("prompt")
    assert benchmark.policy
    assert benchmark.items["kind"].value_counts(sort=True).rows() == [("question", 400), ("context", 100)]
    assert set(benchmark.items["slice"]) == {"standard", "contextual", "copyright"}
    assert set(benchmark.items["label"]) == {1}
    assert benchmark.items["item_id"][0] == "standard-0"
    assert any(note.startswith("not verified in the registry: ") for note in benchmark.notes)


def test_a_part_of_a_file_is_a_benchmark_with_items_of_its_own(tmp_path: Path) -> None:
    path = harmbench(tmp_path / "file.csv")
    copyright_part = one(f"harmbench-copyright={path}")
    assert copyright_part.n_items == 100
    assert copyright_part.items["item"].to_list() == list(range(100))
    assert copyright_part.items["text"][0] == "copyright 0"
    records = list(item_records(copyright_part))
    assert [record["BehaviorID"] for record in records] == copyright_part.items["item_id"].to_list()


def test_a_copy_without_the_class_column_is_taken_whole(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "standard.csv", ["prompt"], [[f"behaviour {i}"] for i in range(200)])
    benchmark = one(f"harmbench-standard={path}")
    assert benchmark.n_items == 200
    assert "column FunctionalCategory is not there, so all records are taken as items" in benchmark.notes
    assert len(list(item_records(benchmark))) == 200


def test_another_count_is_an_error_where_the_count_is_verified(tmp_path: Path) -> None:
    message = error(BenchmarkError, f"harmbench={harmbench(tmp_path / 'file.csv', (200, 100, 99))}")
    assert "399 items, expected 400" in message
    assert "mine=PATH" in message


def test_another_count_is_a_note_where_it_is_not(tmp_path: Path) -> None:
    benchmark = one(("do-not-answer", [{"id": 1, "question": "q", "risk_area": "x"}]))
    assert "1 items, expected 939 by a count that the registry could not verify" in benchmark.notes


def test_a_wrong_column_lists_what_was_seen_and_expected(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "file.csv", ["behaviour", "x"], [["b", "1"]])
    message = error(BenchmarkError, f"advbench={path}")
    assert "no column goal" in message
    assert "expected: goal or prompt (question)" in message
    assert "columns seen: behaviour, x" in message
    assert str(path) in message


def test_wildguard_slices_labels_and_its_benign_half() -> None:
    rows = [
        {
            "prompt": f"p{i}",
            "response": f"r{i}",
            "adversarial": i % 2 == 0,
            "prompt_harm_label": label,
            "response_harm_label": None,
        }
        for i, label in enumerate(["harmful", "unharmful", None] * 575)
    ]
    prompt = one(("wildguardtest", rows))
    assert prompt.name == "wildguardtest-prompt"
    assert prompt.n_items == 1725
    assert prompt.items["label"].to_list()[:3] == [1, 0, None]
    assert prompt.items["slice"].to_list()[:4] == ["harmful-adversarial", "benign-vanilla", None, "harmful-vanilla"]
    response = one(("wildguardtest-response", rows))
    assert response.items["kind"].to_list()[:2] == ["question", "answer"]
    benign = one(("wildguard-benign", rows))
    assert benign.n_items == 575
    assert set(benign.items["label"]) == {0}
    assert set(benign.items["slice"]) == {"adversarial", "vanilla"}


def test_redacted_prompts_are_no_text() -> None:
    rows = [{"id": "a", "prompt": "REDACTED", "response": None, "prompt_label": "unsafe"},
            {"id": "b", "prompt": "fine", "response": "sure", "prompt_label": "safe"}]  # fmt: skip
    benchmark = one(("aegis-2", rows))
    assert benchmark.n_items == 2
    assert benchmark.items.select("item", "text").rows() == [(1, "fine"), (1, "sure")]


def test_a_path_with_a_registered_stem_is_not_checked(tmp_path: Path) -> None:
    benchmark = one(write_jsonl(tmp_path / "xstest.jsonl", [{"prompt": "p"}]))
    assert benchmark.name == "xstest"
    assert not benchmark.is_registered


# ---------------------------------------------------------------- specs


def test_specs_in_python() -> None:
    import datasets
    import pandas as pd

    rows = [{"prompt": text} for text in QUESTIONS]
    given = [
        ("polars", pl.DataFrame(rows)),
        ("pandas", pd.DataFrame(rows)),
        ("dataset", datasets.Dataset.from_list(rows)),
        ("strings", QUESTIONS),
        {"dicts": rows, "more": tuple(QUESTIONS)},
        QUESTIONS,
        rows,
    ]
    opened = open_benchmarks(given)
    assert [b.name for b in opened] == [
        "polars", "pandas", "dataset", "strings", "dicts", "more", "benchmark-7", "benchmark-8"
    ]  # fmt: skip
    assert all(b.items["text"].to_list() == QUESTIONS for b in opened)
    assert {b.source.location for b in opened} == {"memory"}
    assert one(pl.DataFrame(rows)).name == "benchmark"
    assert one(rows).items.height == 3
    assert one(("dataset", datasets.Dataset.from_list(rows))).source.digest == opened[2].source.digest


def test_an_opened_benchmark_passes_through_and_can_be_renamed() -> None:
    benchmark = one(("b", QUESTIONS))
    assert one(benchmark) is benchmark
    renamed = one({"c": benchmark})
    assert renamed.name == "c"
    assert set(renamed.items["benchmark"]) == {"c"}


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "Bench.jsonl", [{"prompt": "p"}])
    message = error(BenchmarkError, [path, ("bench", ["q"])])
    assert "two benchmarks are called 'bench'" in message
    assert str(path) in message


def test_equals_signs_and_registered_spellings_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "a=b.jsonl", [{"prompt": "p"}])
    write_jsonl(tmp_path / "x.jsonl", [{"prompt": "p"}])
    (tmp_path / "k=1").mkdir()
    write_jsonl(tmp_path / "k=1" / "y.jsonl", [{"prompt": "p"}])
    assert one("./a=b.jsonl").name == "a=b"
    assert one("k=1/y.jsonl").name == "y"
    assert one("a=b.jsonl::prompt").name == "a=b"
    assert one("named=x.jsonl").name == "named"
    assert "no file or folder 'c.jsonl'" in error(BenchmarkError, "a=c.jsonl")


@pytest.mark.parametrize("spec", ["=x.jsonl", "name=", "no-such-benchmark", "xtest", "nothere.jsonl", "a/b/c"])
def test_a_spec_that_leads_nowhere_says_so(spec: str) -> None:
    message = error(BenchmarkError, spec)
    assert repr(spec) in message


def test_an_unknown_name_suggests_the_nearest() -> None:
    assert "did you mean 'xstest'?" in error(BenchmarkError, "xtest")


def test_no_spec_at_all() -> None:
    assert "no benchmark is named" in error(UsageError, [])


@pytest.mark.parametrize("name", ["a/b", "..", "a\nb", "a:b", "\x1b[31m"])
def test_names_can_be_file_names(name: str) -> None:
    assert "cannot be a file's name" in error(BenchmarkError, (name, ["text"]))


@pytest.mark.parametrize("data", [3, object(), [1, 2]])
def test_other_data_is_refused(data: Any) -> None:
    error(InputError, ("b", data))


def test_a_hub_spec_is_never_split_at_its_colons() -> None:
    assert parse_spec("mine=hf:org/name::test@abc").target == "hf:org/name::test@abc"
    assert parse_spec("hf:org/name:config:split@main").name == ""


# ---------------------------------------------------------------- broken and empty


@pytest.mark.parametrize("records", [[], [{"prompt": ""}], [{"prompt": None}, {"prompt": "  "}]])
def test_an_empty_benchmark_is_an_error(tmp_path: Path, records: list[Any]) -> None:
    path = tmp_path / "b.jsonl"
    write_jsonl(path, records)
    assert str(path) in error(InputError, path)
    assert "benchmark b: an empty benchmark" in error(BenchmarkError, ("b", records))


def test_a_part_that_no_record_belongs_to_is_empty() -> None:
    message = error(BenchmarkError, ("harmbench-copyright", [{"Behavior": "b", "FunctionalCategory": "standard"}]))
    assert "none of its 1 records has FunctionalCategory in (copyright)" in message


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text('{"prompt": "p"}\n{"prompt": \n', encoding="utf-8")
    assert f"{path}, line 2" in error(BadRecordError, path)


def test_a_folder_that_datasets_did_not_save_is_refused(tmp_path: Path) -> None:
    assert "not saved by `datasets`" in error(InputError, tmp_path)


# ---------------------------------------------------------------- the Hub


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class GatedRepoError(Exception):
    response = Response(403)


def test_a_registered_name_that_is_nowhere_says_what_to_do(tmp_path: Path) -> None:
    message = error(BenchmarkError, "advbench", cache_dir=tmp_path)
    assert "auditkit benchmarks pull" in message
    assert "advbench=PATH" in message
    assert "AUDITKIT_BENCHMARKS" in message
    # The test session is offline, so `datasets` answers at once that the set is not cached.
    message = error(UnreachableError, "truthfulqa", cache_dir=tmp_path)
    assert "hf:truthfulqa/truthful_qa:generation:validation@741b8276" in message
    assert "benchmarks pull" in message


def test_a_registered_name_is_read_from_the_hub_at_its_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    asked: list[HubName] = []

    def load(spec: HubName) -> Any:
        asked.append(spec)
        return datasets.Dataset.from_dict({"question": [f"q{i}" for i in range(817)], "category": ["c"] * 817})

    monkeypatch.setattr(module, "load_split", load)
    benchmark = one("TruthfulQA", cache_dir=tmp_path)
    assert asked == [HubName("truthfulqa/truthful_qa", "generation", "validation", benchmark.revision)]
    assert benchmark.n_items == 817
    assert len(benchmark.revision) == 40
    assert benchmark.source.location.startswith("hf:truthfulqa/truthful_qa:generation:validation@")
    assert one("mine=hf:org/name:c:s", cache_dir=tmp_path).name == "mine"
    assert one("hf:org/name:c:s", cache_dir=tmp_path).name == "name"


def test_a_hub_dataset_on_this_machine_is_loaded_and_its_splits_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local folder of data files stands in for the Hub: `datasets` loads both the same way."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "org" / "name"
    folder.mkdir(parents=True)
    write_jsonl(folder / "train.jsonl", [{"prompt": "a"}])
    write_jsonl(folder / "test.jsonl", [{"prompt": "b"}, {"prompt": "c"}])
    benchmark = one("hf:org/name::test")
    assert benchmark.items["text"].to_list() == ["b", "c"]
    assert benchmark.source.format == "frame"
    assert "has the splits test, train; name one" in error(BenchmarkError, "hf:org/name")


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (GatedRepoError("403 Client Error"), BenchmarkError, "gated, and this account has no access"),
        (ValueError("Config name is missing.\nPlease pick one among: ['x', 'y']"), BenchmarkError,
         "several configurations (Config name is missing. Please pick one among: ['x', 'y']); name one: hf:a/b:CONFIG"),
        (ConnectionError("Couldn't reach 'a/aggregated repos'"), UnreachableError, "cannot be reached"),
        (TimeoutError("timed out"), UnreachableError, "NAME=PATH"),
        (ValueError("BuilderConfig 'x' not found.\nAvailable: y"), BenchmarkError, "BuilderConfig 'x' not found."),
    ],
)  # fmt: skip
def test_failures_of_the_hub_say_what_to_do(failure: Exception, kind: type[BenchmarkError], words: str) -> None:
    made = hub_error(failure, HubName("a/b", "", "test"))
    assert type(made) is kind
    assert words in str(made)
    assert "\n" not in str(made)
    assert "hf:a/b::test" in str(made)


def test_a_missing_dataset_is_told_from_a_gated_one() -> None:
    import datasets

    missing = hub_error(datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' doesn't exist"), HubName("a/b"))
    assert "no such dataset" in str(missing)
    assert "https://huggingface.co/datasets/a/b" in str(gated_error("hf:a/b", "https://huggingface.co/datasets/a/b"))
