"""Each fault that users of such tools reported (a public thread or a tool's version names it), with the right answer.

All run as a user would run them: through `auditkit.audit`, `auditkit.decontaminate` or the command line.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from audit_support import condemned, jsonl, matches, short

import auditkit
from auditkit.cli.main import main
from auditkit.errors import OutputError, RulesError
from auditkit.records import AuditReport

Audited = Callable[..., AuditReport]

NINE_WORDS = "How many bridges cross the river between both towns"
LONG_ITEM = (
    "A gardener plants seven rows of tulips in the morning, waters them twice before noon, and then asks her "
    "neighbour to guess how many bulbs will be in flower when the market opens in April."
)


def fault(*threads: str) -> pytest.MarkDecorator:
    """Name the public threads in the test's id."""
    return pytest.mark.parametrize("thread", [pytest.param(thread, id=thread) for thread in threads])


def result(report: AuditReport, name: str = "bench") -> auditkit.records.BenchmarkResult:  # type: ignore[name-defined]
    return next(found for found in report.benchmarks if found.name == name)


def audit(pool: list[str], items: list[str], **settings: object) -> AuditReport:
    return auditkit.audit({"pool": pool}, {"bench": items}, auditkit.AuditSettings(**settings))  # type: ignore[arg-type]


# ---------------------------------------------------------------- short, empty and odd text


@fault("ChenghaoMou/text-dedup#77")
def test_short_rows_are_counted_and_equal_to_nothing(thread: str) -> None:
    rows = ["cat", "dog", "kill all humans now", "bake me a cake", "The quick tailor mends a coat before the rain."]
    report = audit(rows, ["bird", "sing me a song", "stop all engines please", "The slow baker sells bread at dawn."])
    assert (report.n_rows, report.n_texts, matches(report)) == (5, 5, [])
    assert audit(rows, ["horse"]).n_rows_review == 0


@fault("bigcode-project/bigcode-dataset#35")
def test_two_prompts_of_four_words_are_two(thread: str, tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", ["paint a red barn", "fold a paper crane"])
    report = auditkit.audit(pool, {"bench": ["fold a paper plane", "paint a blue boat"]})
    split = auditkit.decontaminate(
        report, tmp_path / "clean", benchmarks={"bench": ["fold a paper plane", "paint a blue boat"]}
    )
    assert (split.n_kept, split.n_removed) == (2, 0)
    assert (tmp_path / "clean/pool.jsonl").read_bytes() == pool.read_bytes()


@fault("datajuicer/data-juicer#1051")
def test_nothing_equals_nothing(thread: str) -> None:
    report = audit(["", "!!!", "...", "Where does the salmon spawn?"], ["", "!!!", "Where does the salmon spawn?"])
    assert short(report) == [(3, 2, "exact", "contaminated")]
    assert (result(report).n_unmatchable, result(report).n_items, result(report).leak_rate) == (2, 3, 1 / 3)


@fault("marin-community/marin#5519")
def test_nine_words_are_found(thread: str) -> None:
    report = audit([NINE_WORDS], [NINE_WORDS])
    assert short(report) == [(0, 0, "exact", "contaminated")]
    assert (result(report).n_found, result(report).n_items) == (1, 1)


@fault("marin-community/marin#6852")
def test_line_breaks_change_no_score(thread: str) -> None:
    words = LONG_ITEM.split()
    broken = "\n".join(" ".join(words[i : i + 3]) for i in range(0, len(words), 3))
    around = "Please read this slowly: {} That is all for today, thank you."
    for frame in ("{}", around):
        plain, other = audit([frame.format(LONG_ITEM)], [LONG_ITEM]), audit([frame.format(broken)], [LONG_ITEM])
        scores = ("tier", "verdict", "containment", "row_containment", "jaccard", "ratio", "row_start", "view")
        assert other.matches.select(scores).equals(plain.matches.select(scores), null_equal=True)
        assert len(plain.matches) == 1


@fault("decon 0.3.0")
def test_rows_under_ten_tokens_are_scanned_and_counted(thread: str) -> None:
    report = audit(["open the pod bay doors", "hello there", LONG_ITEM], ["open the pod bay doors", "general kenobi"])
    assert (report.n_rows, report.n_texts, report.sources[0].n_rows, report.sources[0].n_texts) == (3, 3, 3, 3)
    assert (report.n_rows_contaminated, report.pool_hit_rate) == (1, 1 / 3)


@fault("corpus-assay 0.1.0")
def test_short_items_stay_in_the_leak_rate(thread: str) -> None:
    items = ["Yes", "Why not?", LONG_ITEM, NINE_WORDS, "What do otters eat during a long and cold winter?"]
    report = audit([LONG_ITEM, "yes!"], items)
    assert (result(report).n_items, result(report).n_found, result(report).leak_rate) == (5, 2, 0.4)
    assert len(report.items) == 5


# ---------------------------------------------------------------- templates and boilerplate

INSTRUCTION = (
    "You will be given a question about everyday life, so please think about it step by step and then write down the "
    "final answer on its own line:"
)
QUESTIONS = [
    "Why do kettles boil over?", "How long does bread stay fresh?", "Which lamp gives the softest light?",
    "Can ducks swim at birth?", "Who cleans the canal in winter?", "What keeps mirrors from fogging?",
    "Where should onions be stored?", "When is gravel better than sand?",
]  # fmt: skip
OTHER_QUESTIONS = ["Do cats purr on purpose?", "Does early paint peel sooner?", "Must violins have rosin?"]


@fault("marin-community/marin#6852 template")
def test_a_shared_instruction_is_a_template_and_no_leak(thread: str) -> None:
    items = [f"{INSTRUCTION} {question}" for question in QUESTIONS]
    report = audit([*(f"{INSTRUCTION} {question}" for question in OTHER_QUESTIONS), items[3]], items)
    assert short(report) == [(3, 3, "exact", "contaminated")]
    assert report.detectors["templates"]["n_pairs_that_share_a_template_only"] >= 3 * len(items)


@fault("marin-community/marin#7126")
def test_a_quotation_that_is_common_in_the_pool_condemns_nothing(thread: str) -> None:
    quotation = "whoever rises before the sun has already won the first battle of a long and weary day"
    item = f"Who said that {quotation} and why?"
    rows = [f"{quotation}, wrote pupil {name}" for name in _names(60)]
    report = audit(rows, [item])
    assert (report.n_rows_contaminated, report.n_rows_review) == (0, 60)
    assert set(report.matches["rule"]) == {"frequency.partial_rows"}
    assert audit(rows[:10], [item]).n_rows_contaminated == 10
    # Whole items are never weakened.
    assert audit([f"{item} {name}" for name in _names(60)], [item]).n_rows_contaminated == 60


def _names(n: int) -> list[str]:
    first, last = (
        ["Ada", "Bo", "Cleo", "Dag", "Elif", "Finn", "Gro", "Hana"],
        ["Ash", "Birk", "Clay", "Dell", "Elm", "Fox", "Gale", "Hay"],
    )
    return [f"{a} {b}" for a in first for b in last][:n]


@fault("ChenghaoMou/text-dedup#17")
def test_other_numbers_are_near_never_exact_and_shown(
    thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", ["Road 1506 runs from the harbour to the old mill and ends there."])
    items = jsonl(tmp_path / "roads.jsonl", ["Road 1507 runs from the harbour to the old mill and ends there."])
    report = auditkit.audit(pool, items, out=tmp_path / "audit")
    assert short(report) == [(0, 0, "near", "review")]
    assert report.matches["numbers_differ"].to_list() == [True]
    assert main(["show", str(tmp_path / "audit")]) == 0
    shown = capsys.readouterr().out
    assert "‹1506›" in shown
    assert "‹1507›" in shown


@fault("marin-community/marin#6854")
def test_a_row_goes_only_for_its_own_match(thread: str) -> None:
    text = "every spring the ferry captain paints both hulls green and hires three young sailors from our lake village"
    a = text.split()
    b, c = list(a), list(a)
    for i in (2, 17):
        b[i] = c[i] = "winter"
    for i in (6, 12):
        c[i] = "purple"
    rows = [" ".join(a), " ".join(b)]
    assert condemned(audit(rows[:1], rows[1:])) == {(0, 0)}
    assert condemned(audit(rows, [" ".join(c)])) == {(1, 0)}


@fault("siftan 0.1.0")
def test_a_common_phrase_is_no_match(thread: str) -> None:
    report = audit(
        ["What about the following recipe for plum cake with cinnamon?", "What about the following?"],
        [
            "What about the following train from Leeds to York at nine?",
            "Is any of this true? What about the following claim",
        ],
    )
    assert condemned(report) == set()
    assert (0, 0) not in {(row, item) for row, item, _, _ in short(report)}


# ---------------------------------------------------------------- scripts and Unicode


@fault("ChenghaoMou/text-dedup#90")
def test_unrelated_arabic_is_unrelated(thread: str) -> None:
    sentences = ["ذهب الولد إلى السوق صباحا", "تحب أختي قراءة الكتب القديمة", "المطر غزير في الجبال اليوم"]
    assert matches(audit(sentences[:2], sentences[2:])) == []
    assert matches(audit(sentences[1:], sentences[:1])) == []


@fault("LongMemory#147")
def test_chinese_with_the_same_start_is_distinct(thread: str) -> None:
    assert condemned(audit(["今天天气很好，我们去公园散步吧"], ["今天天气很好，请告诉我如何修理自行车"])) == set()


@fault("huggingface/datatrove#324")
def test_a_line_a_thousand_times_is_a_thousand_hits(thread: str) -> None:
    line = "请问从火车站到博物馆怎么走最快"
    report = audit([line] * 1000, [line])
    assert (report.n_rows_contaminated, result(report).n_rows, result(report).n_found) == (1000, 1000, 1)


@fault("NVIDIA/garak#1867")
@pytest.mark.parametrize(
    ("disguise", "view"),
    [
        (lambda text: "".join(char + "\u200b" if char.isalpha() else char for char in text), "invisible"),
        (lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text), "compatibility"),
    ],
    ids=["zero-width", "full-width"],
)
def test_disguised_letters_are_found_and_the_view_named(thread: str, disguise: Callable[[str], str], view: str) -> None:
    for text in (disguise(NINE_WORDS), f"Well, {disguise(NINE_WORDS)} if you please"):
        report = audit([text], [NINE_WORDS])
        assert condemned(report) == {(0, 0)}
        assert report.matches["view"].to_list() == [view]


@fault("embeddings-benchmark/mteb#4860")
@pytest.mark.parametrize(
    ("item", "row"),
    [
        ("วิธีทำต้มยำกุ้งแบบง่ายที่บ้าน", "สวัสดีครับ ช่วยบอกหน่อยว่าวิธีทำต้มยำกุ้งแบบง่ายที่บ้านต้องใช้อะไรบ้าง ขอบคุณ"),
        (
            "東京から京都まで新幹線で何時間かかりますか",
            "こんにちは。東京から京都まで新幹線で何時間かかりますか?教えてください。",
        ),
    ],
    ids=["thai", "japanese"],
)
def test_items_without_spaces_are_found_inside(thread: str, item: str, row: str) -> None:
    report = audit([row], [item])
    assert short(report) == [(0, 0, "contained", "contaminated")]
    start, end = report.matches.select("row_start", "row_end").row(0)
    assert row[start:end] == item


@fault("HatemojiBuild")
def test_one_other_emoji_is_no_exact_copy(thread: str, tmp_path: Path) -> None:
    rows = [
        {"text": "I really do 😍 my new neighbours", "hate": 0},
        {"text": "I really do 🔪 my new neighbours", "hate": 1},
    ]
    pool = jsonl(tmp_path / "pool.jsonl", rows)
    report = auditkit.audit(pool, {"bench": [row["text"] for row in rows]})
    exact = report.matches.filter(pl.col("tier") == "exact").select("row", "item").rows()
    assert exact == [(0, 0), (1, 1)]


# ---------------------------------------------------------------- thresholds and LSH


@fault("ekzhu/datasketch#200")
def test_three_of_a_hundred_tokens_changed_are_found(thread: str) -> None:
    rng = random.Random(3)
    words = [
        f"{a}{b}" for a in ("lo", "mi", "ra", "te", "su", "ka", "ne", "vo") for b in ("ban", "dor", "fel", "gim", "hut")
    ]
    items = [[rng.choice(words) for _ in range(100)] for _ in range(10)]
    rows = []
    for item in items:
        row = list(item)
        for place in rng.sample(range(100), 3):
            row[place] = "changed"
        rows.append(" ".join(row))
    report = audit(rows, [" ".join(item) for item in items])
    assert {(i, i) for i in range(10)} <= condemned(report)


@fault("ekzhu/datasketch#140")
@pytest.mark.parametrize(("n_shared", "is_reported"), [(55, False), (90, True)])
def test_jaccard_below_the_threshold_is_not_reported(thread: str, n_shared: int, is_reported: bool) -> None:
    rng = random.Random(5)
    words = ["".join(rng.sample("abcdefghijklmnopqrstuvwxyz", 7)) for _ in range(100)]
    n_own = (100 - n_shared) // 2
    item, row = words[: n_shared + n_own], words[:n_shared] + words[n_shared + n_own :]
    rng.shuffle(row)
    report = audit([" ".join(row)], [" ".join(item)])
    assert bool(matches(report)) is is_reported


@fault("ekzhu/datasketch#85", "ekzhu/datasketch#104")
def test_ten_tokens_inside_five_thousand_are_contained(thread: str) -> None:
    item = "Which of the seven northern lighthouses was built last of all"
    rng = random.Random(7)
    filler = ["".join(rng.sample("bcdfghjklmnprst", 5)) for _ in range(5000)]
    report = audit([" ".join([*filler[:3000], item, *filler[3000:]])], [item])
    assert short(report) == [(0, 0, "contained", "contaminated")]
    assert report.matches["containment"].to_list() == [1.0]


@fault("ekzhu/datasketch#209")
def test_what_minhash_does_is_printed(thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_audit_arguments(tmp_path)) == 0
    printed = capsys.readouterr().out
    minhash = next(line for line in printed.splitlines() if line.startswith("Detector       minhash: "))
    for wanted in ("bands", "rows", "permutations", "Jaccard", "%"):
        assert wanted in minhash
    curve = json.loads((tmp_path / "audit/report.json").read_text())["detectors"]["minhash"]["curve"]
    assert curve[0] == [0, 0]
    assert curve[-1] == [1, 1]


@fault("huggingface/datatrove#107")
def test_hopeless_bands_are_warned_of(thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[minhash]\nbands = 2\nrows = 40\n")
    assert main([*_audit_arguments(tmp_path), "--rules", str(rules)]) == 0
    printed = capsys.readouterr().out
    # 1 - (1 - 0.6^40)^2 is 2.7e-9
    assert "2 bands of 40 rows propose a pair at Jaccard 0.6 with probability 0.0000, wanted 0.98" in printed


@fault("beowolx/rensa#89")
@pytest.mark.parametrize("value", ["nan", "-1", "1.5", "inf"])
def test_impossible_thresholds_are_named_with_their_range(thread: str, value: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    for name in ("near.ratio", "contained.part_tokens", "minhash.jaccard", "paraphrase.minilm"):
        section, key = name.split(".")
        rules.write_text(f"[{section}]\n{key} = {value}\n")
        with pytest.raises(RulesError, match=rf"{name} is .*expected a number in \[0, 1\]"):
            audit(["a"], ["b"], rules=rules)


@fault("marin-community/marin#5650")
@pytest.mark.parametrize(
    ("share", "threshold", "verdict"),
    [(0.3, 0.7, None), (0.3, 0.3, "contaminated"), (0.65, 0.7, "review"), (0.7, 0.7, "contaminated")],
)
def test_the_threshold_is_what_decides(
    thread: str, share: float, threshold: float, verdict: str | None, tmp_path: Path
) -> None:
    words = [f"{a}{b}" for a in ("kla", "mor", "sen", "tiv") for b in ("bor", "cat", "den", "fug", "gol")]
    rules = tmp_path / "rules.toml"
    rules.write_text(f"[contained]\npart_tokens = {threshold}\n")
    report = audit([" ".join(words[: round(20 * share)])], [" ".join(words)], rules=rules)
    assert [found[3] for found in short(report)] == ([verdict] if verdict else [])


# ---------------------------------------------------------------- counts, attribution, meaning


@fault("allenai/dolma#264")
def test_every_match_says_score_threshold_and_verdict(thread: str) -> None:
    words = LONG_ITEM.split()
    rows = [
        LONG_ITEM,
        f"Now then: {LONG_ITEM} Over.",
        " ".join(words[:25]),
        LONG_ITEM.replace("tulips", "tulip"),
        NINE_WORDS,
    ]
    report = audit(rows, [LONG_ITEM, NINE_WORDS])
    assert len(report.matches) == 5
    said = report.matches.select(
        "rule", "threshold", "verdict", "tier", "ratio", "ratio_kind", "containment", "jaccard"
    )
    assert said.null_count().sum_horizontal().item() == 0
    numbers = report.matches.filter(pl.col("ratio_kind") != "partial_ratio")
    assert (numbers["ratio"] >= numbers["threshold"]).all()


@fault("allenai/dolma#174")
def test_a_benchmark_holds_itself(thread: str, tmp_path: Path) -> None:
    texts = [LONG_ITEM, NINE_WORDS, "Yes", "🦊🦊", "今天", "a", "Why?", "What is 3 + 4?", "What is 3 + 5?"]
    items = jsonl(tmp_path / "bench.jsonl", texts)
    assert result(auditkit.audit(items, items)).leak_rate == 1.0


@fault("huggingface/datatrove#370", "huggingface/datatrove#376")
def test_shared_text_is_named_for_each_benchmark(thread: str, tmp_path: Path) -> None:
    a = jsonl(tmp_path / "a.jsonl", [LONG_ITEM, "Which colour has the flag of the harbour master?"])
    b = jsonl(tmp_path / "b.jsonl", [NINE_WORDS, "Something about a windmill on the northern shore", LONG_ITEM])
    pool = jsonl(
        tmp_path / "pool.jsonl", ["Nothing to see here at all", LONG_ITEM, f"{LONG_ITEM} {NINE_WORDS}", LONG_ITEM]
    )
    before = a.read_bytes(), b.read_bytes()
    report = auditkit.audit(pool, [a, b])
    pairs = {(row, name, item) for _, row, name, item, _, verdict in matches(report) if verdict == "contaminated"}
    assert pairs == {*((row, name, item) for row in (1, 2, 3) for name, item in (("a", 0), ("b", 2))), (2, "b", 0)}
    split = auditkit.decontaminate(report, tmp_path / "clean")
    assert (split.n_kept, split.n_removed) == (1, 3)
    assert (a.read_bytes(), b.read_bytes()) == before


@fault("MinishLab/semhash#70", "MinishLab/semhash#60")
def test_ten_copies_are_ten_matches_and_none_is_empty(thread: str) -> None:
    report = audit([LONG_ITEM] * 10, [LONG_ITEM])
    assert short(report) == [(row, 0, "exact", "contaminated") for row in range(10)]
    empty = audit([f"{name} went home early" for name in _names(10)], [LONG_ITEM])
    assert (len(empty.matches), empty.n_rows_contaminated, result(empty).leak_rate) == (0, 0, 0.0)


@fault("NVIDIA/NeMo-Curator#67")
def test_disjoint_data_is_zero_and_status_0(thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*_audit_arguments(tmp_path, rows=["Entirely other things"]), "--fail-over", "0"]) == 0
    assert "0.0 %" in capsys.readouterr().out.replace("\u00a0", " ")


@fault("EleutherAI/lm-evaluation-harness janitor")
@pytest.mark.parametrize("action", ["remove", "mask"])
def test_short_clean_rows_are_kept_whole(thread: str, action: str, tmp_path: Path) -> None:
    rows = ["Tiny.", "A clean row of well under two hundred characters, with an ending.", LONG_ITEM, ""]
    pool, items = jsonl(tmp_path / "pool.jsonl", rows), jsonl(tmp_path / "bench.jsonl", [LONG_ITEM])
    auditkit.decontaminate(auditkit.audit(pool, items), tmp_path / "clean", action=action)  # type: ignore[arg-type]
    kept = [json.loads(line)["text"] for line in (tmp_path / "clean/pool.jsonl").read_text().splitlines()]
    assert [text for text in kept if "removed" not in text] == [rows[0], rows[1], rows[3]]


@fault("datacruxai 0.4.0")
def test_counts_say_what_they_count(thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = f"{LONG_ITEM} {NINE_WORDS} {LONG_ITEM}"
    assert (
        main(
            _audit_arguments(
                tmp_path, rows=[three, "Clean"], items=[LONG_ITEM, NINE_WORDS, "What else is there to say?"]
            )
        )
        == 0
    )
    printed = capsys.readouterr().out
    report = auditkit.load_report(tmp_path / "audit")
    assert (len(report.matches), report.n_rows_contaminated, result(report).n_rows, result(report).n_found) == (
        3,
        1,
        1,
        2,
    )
    assert "1 of 2 rows condemned" in printed
    assert printed.splitlines()[2].split()[1:3] == ["items", "found"]


# ---------------------------------------------------------------- files and scale


MEASURED = """
import re, sys
import auditkit
settings = auditkit.AuditSettings(read=auditkit.ReadSettings(shard_bytes=1 << 20))
report = auditkit.audit(sys.argv[1], {"bench": ["%s", "%s"]}, settings)
print(report.n_rows, re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


@fault("MinishLab/semhash#54 ChenghaoMou/text-dedup#41")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_is_that_of_index_and_shard(thread: str, tmp_path: Path) -> None:
    peaks = []
    for n_rows in (50_000, 200_000):
        pool = tmp_path / f"{n_rows}.txt"
        pool.write_text("".join(_lines(n_rows)))
        command = [sys.executable, "-c", MEASURED % (LONG_ITEM, NINE_WORDS), str(pool)]
        read, peak_kb = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert int(read) == n_rows
        peaks.append(int(peak_kb))
    # The second pool is 60 MB larger than the first.
    assert peaks[1] - peaks[0] < 30_000


def _lines(n: int) -> Iterator[str]:
    rng = random.Random(1)
    words = [
        f"{a}{b}" for a in ("lo", "mi", "ra", "te", "su", "ka") for b in ("ban", "dor", "fel", "gim", "hut", "jar")
    ]
    tails = [" ".join(rng.choices(words, k=65)) for _ in range(997)]
    for i in range(n):
        yield f"{i} {tails[i % 997]}\n"


@fault("allenai/bff#3")
def test_the_span_can_be_masked_and_the_rest_kept(thread: str, tmp_path: Path) -> None:
    pool = jsonl(tmp_path / "pool.jsonl", [f"Dear all, {LONG_ITEM} Kind regards, Olga", "Other"])
    items = jsonl(tmp_path / "bench.jsonl", [LONG_ITEM])
    auditkit.decontaminate(auditkit.audit(pool, items), tmp_path / "clean", action="mask")
    masked = json.loads((tmp_path / "clean/pool.jsonl").read_text().splitlines()[0])["text"]
    assert masked.startswith("Dear all, [removed by auditkit]")
    assert masked.endswith("Kind regards, Olga")


@fault("allenai/decon")
def test_a_folder_in_use_by_other_settings_is_an_error(thread: str, tmp_path: Path) -> None:
    pool, items = jsonl(tmp_path / "pool.jsonl", [LONG_ITEM]), jsonl(tmp_path / "bench.jsonl", [LONG_ITEM])
    auditkit.audit(pool, items, out=tmp_path / "audit")
    before = (tmp_path / "audit/report.json").read_bytes()
    with pytest.raises(OutputError, match="other inputs, settings or version"):
        auditkit.audit(pool, items, auditkit.AuditSettings(("exact",)), out=tmp_path / "audit")
    assert (tmp_path / "audit/report.json").read_bytes() == before


def _audit_arguments(tmp_path: Path, rows: list[str] | None = None, items: list[str] | None = None) -> list[str]:
    pool = jsonl(tmp_path / "pool.jsonl", rows or [LONG_ITEM])
    bench = jsonl(tmp_path / "bench.jsonl", items or [LONG_ITEM, NINE_WORDS])
    return ["audit", str(pool), "--benchmark", str(bench), "--out", str(tmp_path / "audit")]
