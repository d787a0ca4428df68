"""The floors of the house: who may import whom, and what may not be loaded at import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: A module imports only from lower floors, and from its own room. The root package re-exports public names, so it
#: stands above the stories and below the command line.
FLOORS: dict[str, float] = {
    **dict.fromkeys(["errors"], 0),
    **dict.fromkeys(["estimates", "findings"], 0.5),  # part of the records
    **dict.fromkeys(["tables", "records", "study_records", "kernels"], 1),
    **dict.fromkeys(["text", "formats"], 2),
    **dict.fromkeys(
        ["read", "detect", "verify", "context", "plant", "families", "inspection", "split", "train", "evaluate"], 3
    ),
    **dict.fromkeys(["report", "run", "review"], 3),
    **dict.fromkeys(["stories", "demo"], 4),  # the demo plants copies and writes files: a story of its own
    "": 4.5,
    **dict.fromkeys(["cli"], 5),
    "__main__": 6,
}
HEAVY = ("torch", "transformers", "datasets", "ray", "datasketch", "sentence_transformers")


def room_of(module: str) -> str:
    """Return the room of a dotted module below auditkit: "read" for auditkit.read.pool, "" for auditkit itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def module_name(path: Path, tree: Path) -> str:
    parts = ["auditkit", *path.relative_to(tree).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(node: ast.AST, rooms: set[str]) -> Iterator[str]:
    """Yield the dotted modules one import statement names; `from auditkit import read` names auditkit.read."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if base != "auditkit":
            yield base
        else:
            yield from (f"auditkit.{alias.name}" if alias.name in rooms else "auditkit" for alias in node.names)


def floor_faults(tree: Path) -> list[str]:
    """Return one line for each import of the package folder `tree` that breaks the floors."""
    faults = []
    for path in sorted(tree.rglob("*.py")):
        here = room_of(module_name(path, tree))
        where = path.relative_to(tree).as_posix()
        if here not in FLOORS:
            faults.append(f"{where}: unknown room {here}; give it a floor in {Path(__file__).name}")
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                faults.append(f"{where}:{node.lineno}: relative import")
            for name in imported_modules(node, set(FLOORS) - {""}):
                fault = import_fault(here, name)
                if fault:
                    faults.append(f"{where}:{node.lineno}: {fault}")  # type: ignore[attr-defined]
    return faults


def import_fault(here: str, name: str) -> str:
    """Return what is wrong with an import of `name` in the room `here`, or "" where it is allowed."""
    if name.split(".")[0] != "auditkit":
        return ""
    there = room_of(name)
    if there not in FLOORS:
        return f"imports the unknown room {there}"
    if there == here or FLOORS[there] < FLOORS[here]:
        return ""
    return f"{here or 'the root'} (floor {FLOORS[here]}) imports {there or 'the root'} (floor {FLOORS[there]})"


def statements_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported: all but the bodies of functions and TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements_at_import(node.orelse)
            continue
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            for child in getattr(node, block, []):
                is_block = isinstance(child, ast.ExceptHandler | ast.match_case)
                yield from statements_at_import(child.body if is_block else [child])


def heavy_faults(tree: Path) -> list[str]:
    """Return one line for each heavy package that a module of `tree` imports at module level."""
    faults = []
    for path in sorted(tree.rglob("*.py")):
        for node in statements_at_import(ast.parse(path.read_text(encoding="utf-8")).body):
            for name in imported_modules(node, set()):
                if name.split(".")[0] in HEAVY:
                    faults.append(f"{path.relative_to(tree).as_posix()}:{node.lineno}: {name} at module level")
    return faults


def wrong_installs(text: str) -> list[str]:
    """Return the commands in `text` that would install the other project of this name from an index."""
    command = r"(?:pip3?|pipx|uv tool)\s+install\s+(?:-{1,2}[\w-]+\s+)*['\"]?auditkit\b(?![-/.\w])"
    return re.findall(command, text, flags=re.IGNORECASE)


def project_files(root: Path) -> Iterator[Path]:
    """Yield the files git tracks; in an unpacked sdist, where there is no git, all files but those of environments."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        yield from (root / name for name in listed.stdout.split("\0") if name)
        return
    hidden = (".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
    yield from (p for p in root.rglob("*") if p.is_file() and not set(p.relative_to(root).parts) & set(hidden))


def make_tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# ---------------------------------------------------------------- the project


def test_every_module_imports_only_from_lower_floors(root: Path) -> None:
    assert floor_faults(root / "auditkit") == []


def test_no_module_imports_a_heavy_package_at_module_level(root: Path) -> None:
    assert heavy_faults(root / "auditkit") == []


def test_importing_auditkit_loads_no_heavy_package() -> None:
    code = f"import auditkit, sys; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_no_file_installs_the_other_project_of_this_name(root: Path) -> None:
    faults = []
    for path in project_files(root):
        if path.is_file() and path != Path(__file__):
            faults += [f"{path.name}: {found}" for found in wrong_installs(path.read_text("utf-8", errors="replace"))]
    assert faults == []


# ---------------------------------------------------------------- the checker can fail


@pytest.mark.parametrize(
    ("path", "code", "fault"),
    [
        ("read/pool.py", "from auditkit.detect.exact import find\n", "read/pool.py:1: read (floor 3) imports detect"),
        ("read/pool.py", "import auditkit.stories.audit\n", "read/pool.py:1: read (floor 3) imports stories (floor 4)"),
        ("read/pool.py", "from auditkit import split\n", "read/pool.py:1: read (floor 3) imports split (floor 3)"),
        ("read/pool.py", "from auditkit import Pool\n", "read/pool.py:1: read (floor 3) imports the root"),
        ("text/shingle.py", "def f():\n    from auditkit.read import pool\n", "text/shingle.py:2: text (floor 2)"),
        ("errors.py", "import auditkit.records\n", "errors.py:1: errors (floor 0) imports records (floor 1)"),
        ("records.py", "import auditkit.tables\n", "records.py:1: records (floor 1) imports tables (floor 1)"),
        ("stories/a.py", "from auditkit.cli import main\n", "stories/a.py:1: stories (floor 4) imports cli (floor 5)"),
        ("read/pool.py", "from . import formats\n", "read/pool.py:1: relative import"),
        ("attic/junk.py", "x = 1\n", "attic/junk.py: unknown room attic"),
        ("stories/a.py", "from auditkit.attic import x\n", "stories/a.py:1: imports the unknown room attic"),
    ],
)
def test_a_bad_import_is_reported(tmp_path: Path, path: str, code: str, fault: str) -> None:
    found = floor_faults(make_tree(tmp_path, {path: code}))
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_imports_downwards_and_inside_a_room_are_allowed(tmp_path: Path) -> None:
    tree = make_tree(
        tmp_path,
        {
            "__init__.py": "from auditkit.stories.audit import audit\n",
            "stories/audit.py": "from auditkit.read import pool\nfrom auditkit import records, errors\nimport os\n",
            "stories/study.py": "from auditkit.stories import audit\n",
            "read/__init__.py": "from auditkit.read.pool import open_pool\n",
            "read/pool.py": "import polars\nfrom auditkit.text.normalise import canonical\n",
            "cli/main.py": "import auditkit\nfrom auditkit import audit\n",
        },
    )
    assert floor_faults(tree) == []


@pytest.mark.parametrize(
    ("code", "n_faults"),
    [
        ("import torch\n", 1),
        ("import numpy, torch.nn as nn\n", 1),
        ("from datasets import load_dataset\n", 1),
        ("try:\n    import ray\nexcept ImportError:\n    import transformers\n", 2),
        ("class A:\n    import datasketch\n", 1),
        ("match 1:\n    case 1:\n        import torch\n", 1),
        ("def f():\n    import torch\n", 0),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", 0),
        ("import torchlike\nimport auditkit.datasets\n", 0),
    ],
)
def test_a_heavy_import_is_reported(tmp_path: Path, code: str, n_faults: int) -> None:
    assert len(heavy_faults(make_tree(tmp_path, {"read/pool.py": code}))) == n_faults


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip " + "install auditkit", True),
        ("uv pip " + "install -U 'auditkit[embed]'", True),
        ("pipx " + "install auditkit", True),
        ("pip " + "install benchmark-auditkit", False),
        ("pip " + "install '.[embed]'", False),
        ("pip " + "install auditkit-0.1.0.whl", False),
    ],
)
def test_a_wrong_install_command_is_seen(text: str, is_wrong: bool) -> None:
    assert bool(wrong_installs(text)) is is_wrong
