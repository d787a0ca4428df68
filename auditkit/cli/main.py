"""The command line: arguments -> settings -> a story -> a report on the terminal, and an exit status.

0 done, 1 the gate tripped, 2 wrong use or input that cannot be read, 70 a defect of auditkit, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence

DONE, TRIPPED, WRONG, DEFECT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 70, 130, 141

Command = Callable[[argparse.Namespace], int]


def entry() -> None:
    """Run the command line of this process and exit with its status."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; one line on stderr says what went wrong."""
    parsed = parser().parse_args(arguments)
    try:
        return run(parsed)
    except KeyboardInterrupt:
        return _say("interrupted; nothing was written half", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone: no message can reach it, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except SystemExit:
        raise
    except BaseException as error:  # a panic inside polars is no Exception, and must not end with 1 either
        return _failed(error)


def run(parsed: argparse.Namespace) -> int:
    """Import the command's module, which may be heavy, and run it."""
    from importlib import import_module

    command: Command = import_module(f"auditkit.cli.{parsed.module}").run
    return command(parsed)


def _failed(error: BaseException) -> int:
    from auditkit.errors import AuditkitError

    if os.environ.get("AUDITKIT_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, AuditkitError):
        return _say(str(error), WRONG)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}", WRONG)
    return _say(
        f"this is a defect of auditkit ({type(error).__name__}: {str(error)[:300]}); please report it, with the "
        "traceback that AUDITKIT_DEBUG=1 shows",
        DEFECT,
    )


def _say(message: str, status: int) -> int:
    from auditkit.report.safe import shown

    sys.stderr.write(f"auditkit: error: {shown(message)}\n")
    return status


# ---------------------------------------------------------------- arguments


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="auditkit",
        description="Find benchmark items in training pools, and write the pools again without them.",
        epilog="Exit status: 0 done, 1 the gate tripped, 2 wrong use or unreadable input.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _audit(commands.add_parser("audit", help="find benchmark items in a training pool"))
    _merge(commands.add_parser("merge", help="the report of an audit that was run in shards"))
    _decontaminate(commands.add_parser("decontaminate", help="write the audited pool again without what leaked"))
    _show(commands.add_parser("show", help="look at matches, pool text and item side by side"))
    _power(commands.add_parser("power", help="plant copies in a sample of the audited pool: what would be found"))
    commands.add_parser("rules", help="print the verdict rules, to be changed").set_defaults(module="rules")
    _study(commands.add_parser("study", help="train guardrail arms on clean data, tell policy from capability"))
    _evaluate(commands.add_parser("evaluate", help="rates, AUROC and failures of any guard's predictions"))
    _inspect(commands.add_parser("inspect", help="near-duplicates, conflicting labels, damage, languages of a pool"))
    _labels(commands.add_parser("labels", help="compare how two policies label one pool"))
    _split(commands.add_parser("split", help="write a pool as train, dev and test, near-duplicates on one side"))
    _benchmarks(commands.add_parser("benchmarks", help="list the registered benchmarks, or pull copies of them"))
    _demo(commands.add_parser("demo", help="make an invented pool with planted copies, audit and clean it"))
    return top


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"auditkit {version('benchmark-auditkit')}\n")
        parser.exit()


def _audit(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="audit")
    add = command.add_argument
    add("pool", nargs="+", metavar="POOL", help="file, folder, glob, or hf:org/name:config:split@revision")
    add("--benchmark", "-b", action="append", required=True, metavar="B", help="registered name, path, or name=path")
    add("--out", "-o", required=True, metavar="DIR", help="folder for the report and its tables")
    add("--overwrite", action="store_true", help="replace an audit of other inputs or settings in DIR")
    add("--tiers", default="exact,contained,near", metavar="T,T", help="tiers that run (default: %(default)s), or all")
    add("--encoder", action="append", metavar="NAME", help="minilm (default), multilingual, Hub name or folder")
    add("--cross-encoder", default="", metavar="NAME", help="Hub name or folder: scores what paraphrase reports")
    add("--exhaustive", action="store_true", help="paraphrase embeds every row, those that its sieve leaves out too")
    add("--views", default="default", metavar="V,V", help="disguises that are undone: default (all), none, or names")
    add("--fields", action="append", metavar="F,F", help="scan these text columns only")
    add("--roles", action="append", metavar="R,R", help="scan these chat roles only")
    add(
        "--label", action="append", default=[], metavar="POLICY=COLUMN", help="a policy's labels, with :value=0,value=1"
    )
    add("--id-column", default="", metavar="COLUMN", help="the column of row ids")
    add("--rules", metavar="FILE", help="a TOML of verdict rules; what it leaves out keeps its default")
    add("--bad-rows", choices=("error", "skip"), default="error", help="stop at a broken record, or set it aside")
    add("--decoys", type=int, metavar="N", help="decoys that measure errors (default: one an item, at most 1,000)")
    add("--fdr", type=float, metavar="SHARE", help="matches less sure than this share of wrong ones go to review")
    add(
        "--upstream",
        action="append",
        default=[],
        metavar="NAME=POOL",
        help="a pool that came before (a teacher's, an earlier stage's), or a TOML of them: what leaked through which",
    )
    add("--public", action="append", default=[], metavar="B[:SLICE]", help="a benchmark whose items are public text")
    _run_options(command)
    _gate(command)


def _run_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("how it is run (none of it changes the report)").add_argument
    add("--workers", type=int, default=0, metavar="N", help="shards scanned at a time (default: one a core)")
    add("--engine", default="local", metavar="E", help="local (default), or ray: tasks on a cluster (extra ray)")
    add("--address", default="", metavar="A", help="of the Ray cluster (default: RAY_ADDRESS, or Ray on this machine)")
    add(
        "--reuse",
        action="append",
        default=[],
        metavar="DIR",
        help="an earlier audit: what it scanned is not scanned again",
    )
    add("--shard", metavar="I/N", help="scan every Nth piece of the pool only, from the Ith; then auditkit merge")


def _gate(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("gate (exit status 1)").add_argument
    add(
        "--fail-over", action="append", default=[], metavar="[B=]SHARE", help="trip above this share of condemned items"
    )
    add("--fail-on", default="contaminated", metavar="VERDICT", help="contaminated (default), or review to add review")
    add("--baseline", metavar="REPORT", help="an earlier audit: only items that are new since count")
    add("--waivers", metavar="FILE", help="a TOML of accepted items, each with reason and expiry date")


def _merge(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="merge")
    add = command.add_argument
    add("folders", nargs="+", metavar="DIR", help="where auditkit audit --shard wrote to, one folder or several")
    add("--out", "-o", required=True, metavar="OUT", help="folder for the report; may be one of them")
    add("--overwrite", action="store_true", help="replace another audit in OUT")
    _gate(command)


def _decontaminate(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="decontaminate")
    command.add_argument("audit", metavar="DIR", help="the folder of an audit")
    command.add_argument("--out", "-o", required=True, metavar="CLEAN", help="a new folder")
    command.add_argument("--action", choices=("remove", "mask"), default="remove", help="default: %(default)s")
    command.add_argument(
        "--verdict", choices=("contaminated", "review"), default="contaminated", help="review acts on every match"
    )


def _power(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="power")
    add = command.add_argument
    add("audit", metavar="DIR", help="the folder of an audit; the result is written there")
    add(
        "--rate",
        action="append",
        metavar="N|P%%",
        help="words substituted, a number or a share (default: 1, 2, 10%%, 20%%)",
    )
    add("--wanted", type=float, metavar="SHARE", help="a power: which settings would reach it, and at what cost")
    add("--plants", type=int, default=200, metavar="N", help="items planted in each kind (default: %(default)s)")
    add("--sample", type=int, default=2_000, metavar="N", help="rows of the pool around them (default: %(default)s)")
    add("--pairs", metavar="FILE", help="CSV, TSV, JSON, JSONL or Parquet with the columns original and rephrased")
    add("--seed", type=int, default=1, metavar="N", help="default: %(default)s")


def _show(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="show")
    command.add_argument("audit", metavar="DIR", help="the folder of an audit")
    command.add_argument("--benchmark", "-b", metavar="B")
    command.add_argument("--item", "-i", metavar="I", help="an item's id, or its 0-based number")
    command.add_argument("--verdict", choices=("contaminated", "review"))
    command.add_argument("--limit", type=int, default=20, metavar="N", help="pairs at most (default: %(default)s)")
    command.add_argument("--templates", action="store_true", help="the pool's templates in place of pairs")


def _study(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="study")
    command.add_argument("study", nargs="?", metavar="STUDY.toml", help="the study file")
    command.add_argument("--out", "-o", metavar="DIR", help="the study's folder; a stopped study goes on there")
    command.add_argument("--example", action="store_true", help="print the commented ten-arm file")
    command.add_argument("--report-only", action="store_true", help="compute the report again from the predictions")
    command.add_argument("--overwrite", action="store_true", help="take over the folder of another study")


def _evaluate(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="evaluate")
    add = command.add_argument
    add("predictions", nargs="+", metavar="PREDICTIONS", help="Parquet, CSV, TSV, JSON, JSONL, or an Inspect eval log")
    add("--labels", metavar="FILE", help="the same prompts with their labels, joined by id")
    add("--policy", action="append", default=[], metavar="COLUMN", help="labels of a policy: twice, A then B")
    add("--column", action="append", default=[], metavar="MEANING=COLUMN", help="where names differ: score=p_unsafe")
    add("--guard", default="", metavar="NAME", help="whose predictions they are (default: as they say, or the file)")
    add("--set", default="", metavar="NAME", help="the benchmark they are of (default: as they say, or test)")
    add("--dev", default="dev", metavar="NAME", help="the set that thresholds are chosen on (default: %(default)s)")
    add("--fpr", type=float, default=0.05, help="of the matched operating point (default: %(default)s)")
    add("--cost-ratio", type=float, default=5.0, help="a miss in over-refusals (default: %(default)s)")
    add("--scorer", default="", metavar="NAME", help="the scorer of an Inspect log that has several")
    add("--value-is", default="correct", choices=("correct", "score"), help="what an Inspect score's value is")
    add("--out", "-o", metavar="FILE.json", help="every number as JSON")


def _inspect(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="inspect")
    _whole_pool(command)
    add = command.add_argument
    add("--out", "-o", required=True, metavar="DIR", help="a new folder")
    add("--benchmark", "-b", action="append", metavar="B", help="items whose labels are compared with their rows' too")
    add("--no-families", action="store_true", help="leave near-duplicates out: memory does not grow with the pool")
    add("--tokenizer", default="", metavar="T", help="minilm, a folder or a Hub name: counts what that model cuts off")
    add("--max-tokens", type=int, metavar="N", help="tokens that the model reads (default: what the tokenizer says)")
    add("--long-tokens", type=int, default=2_000, metavar="N", help="longer rows are flagged (default: %(default)s)")


def _labels(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="labels")
    _whole_pool(command)
    command.add_argument("--out", "-o", metavar="DIR", help="a new folder for labels.json and conflicts.parquet")


def _split(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="split")
    _whole_pool(command)
    command.add_argument("--out", "-o", required=True, metavar="DIR", help="a new folder")
    for side, share in (("train", "0.8"), ("dev", "0.1"), ("test", "0.1")):
        command.add_argument(f"--{side}", default=share, metavar="SHARE", help="default: %(default)s")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    command.add_argument("--group-column", default="", metavar="COLUMN", help="rows of one value stand on one side")


def _whole_pool(command: argparse.ArgumentParser) -> None:
    """Add what `inspect`, `labels` and `split` share: the pool, its labels and sources, what makes two rows near."""
    add = command.add_argument
    add("pool", nargs="+", metavar="POOL", help="file, folder, glob, or hf:org/name:config:split@revision")
    add(
        "--label", action="append", default=[], metavar="POLICY=COLUMN", help="a policy's labels, with :value=0,value=1"
    )
    add("--source-column", default="", metavar="COLUMN", help="where each row comes from (default: its file)")
    add("--fields", action="append", metavar="F,F", help="compare these text columns only (default: the prompts)")
    add("--roles", action="append", metavar="R,R", help="compare these chat roles only (default: the user's turns)")
    add("--bad-rows", choices=("error", "skip"), default="error", help="stop at a broken record, or leave it out")
    add("--rules", metavar="FILE", help="a TOML of verdict rules: what makes two rows near")
    add("--join-numbers", action="store_true", help="rows that differ in a number only are near, too")


def _benchmarks(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="benchmarks")
    command.add_argument("--name", metavar="NAME", help="everything that is known of one benchmark")
    actions = command.add_subparsers(dest="action", metavar="pull")
    pull = actions.add_parser("pull", help="write a locked copy for offline use")
    pull.add_argument("folder", metavar="DIR")
    pull.add_argument("names", nargs="*", metavar="NAME", help="default: all")


def _demo(command: argparse.ArgumentParser) -> None:
    command.set_defaults(module="demo")
    command.add_argument("--out", "-o", default="auditkit-demo", metavar="DIR", help="default: %(default)s")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--study", action="store_true", help="run a policy study of ten arms on the invented pool")
