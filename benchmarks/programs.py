"""Which rewritten programs are found, and how often different functions look the same once names are gone.

    python benchmarks/programs.py HUMANEVAL.jsonl [--out benchmarks/results/programs.json]

Every item of a benchmark of Python programs (column `text`) is written anew: no comment or docstring, every name of its
own changed, statements as `ast.unparse` writes them. And of the functions of Python's standard library, those of equal
form are counted whose syntax trees differ.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import sysconfig
import textwrap
import time
from collections import defaultdict
from pathlib import Path

import polars as pl
from machine import machine

import auditkit
from auditkit.run.versions import versions
from auditkit.text.views.programs import PROGRAM, units_of

N_FILES = 200


class Renamed(ast.NodeTransformer):
    """A program with its own names changed and its docstrings left out."""

    def __init__(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        self.names = {name: f"other{i}" for i, name in enumerate(sorted(own))}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.generic_visit(node)
        node.arg = self.names[node.arg]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self.names[node.name]
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node


def rewritten(code: str) -> str:
    """Return the same program in other letters."""
    tree = ast.parse(code)
    return f"# solution\n{ast.unparse(Renamed(tree).visit(tree))}  # done\n"


def recall(path: Path) -> dict[str, object]:
    """Return how many rewritten items are condemned, with the view and without."""
    rows = [rewritten(json.loads(line)["text"]) for line in path.read_text("utf-8").splitlines()]
    figures: dict[str, object] = {"n_items": len(rows)}
    for views in ("default", "none"):
        report = auditkit.audit(
            pl.DataFrame({"text": rows}), f"programs={path}", auditkit.AuditSettings(views=(views,))
        )
        bad = report.matches.filter(pl.col("verdict") == "contaminated")
        figures[f"n_condemned_with_views_{views}"] = bad.filter(pl.col("row") == pl.col("item"))["row"].n_unique()
        figures[f"n_other_items_with_views_{views}"] = len(bad.filter(pl.col("row") != pl.col("item")))
        if views == "default":
            figures |= {name: n for name, n in report.detectors["views"].items() if name.startswith("n_items")}
            figures["n_matches_of_the_view"] = bad.filter(pl.col("view") == PROGRAM).height
    return figures


def _tree(code: str) -> str:
    try:
        return ast.dump(ast.parse(textwrap.dedent(code)))
    except SyntaxError:
        return code


def collisions() -> dict[str, object]:
    """Return how many forms belong to functions of the standard library that differ."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:N_FILES]
    trees, n_functions, n_bytes, start = defaultdict[str, set[str]](set), 0, 0, time.process_time()
    for path in files:
        text = path.read_text("utf-8", errors="replace")
        n_bytes += len(text)
        for unit in units_of(text):
            n_functions += 1
            trees[unit.form].add(_tree(text[unit.start : unit.end]))
    return {
        "n_functions": n_functions,
        "n_forms": len(trees),
        "n_forms_of_different_functions": sum(len(same) > 1 for same in trees.values()),
        "megabytes_per_second": round(n_bytes / 1e6 / (time.process_time() - start), 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    about = {"machine": machine(), "versions": versions(has_encoder=False)}
    body = {**about, "rewritten": recall(arguments.benchmark), "standard_library": collisions()}
    print(json.dumps(body, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
