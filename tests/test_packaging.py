"""What the package declares: version, types, extras, and every package that its code imports."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.resources
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: Import name -> distribution name, where they differ by more than case, "-" and "_".
DISTRIBUTIONS = {"sklearn": "scikit-learn"}


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def normalised(name: str) -> str:
    """Return a distribution's name in its one normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(project: dict[str, Any], *, with_dev: bool = False) -> set[str]:
    """Return the distributions that dependencies and extras name."""
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *(extras[name] for name in extras if with_dev or name != "dev")]
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for one in lists for requirement in one}
    return {normalised(name) for name in names}


def imports_of(code: str) -> Iterator[str]:
    """Yield the top-level packages that `code` imports anywhere, and those named in importlib.import_module("...")."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value.split(".")[0]


def undeclared(tree: Path, project: dict[str, Any]) -> list[str]:
    """Return "file: package" for every third-party import below `tree` that no dependency or extra declares."""
    known = declared(project)
    faults = []
    for path in sorted(tree.rglob("*.py")):
        for name in sorted(set(imports_of(path.read_text(encoding="utf-8")))):
            is_ours = name == "auditkit" or name in sys.stdlib_module_names
            if not is_ours and normalised(DISTRIBUTIONS.get(name, name)) not in known:
                faults.append(f"{path.relative_to(tree).as_posix()}: {name}")
    return faults


def test_the_installed_version_is_that_of_pyproject(project: dict[str, Any]) -> None:
    assert importlib.metadata.version("benchmark-auditkit") == project["version"]


def test_the_changelog_names_the_version(root: Path, project: dict[str, Any]) -> None:
    assert project["version"] in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_names_the_version(root: Path, project: dict[str, Any]) -> None:
    assert f'\nversion: "{project["version"]}"\n' in (root / "CITATION.cff").read_text(encoding="utf-8")


def test_types_are_shipped() -> None:
    assert importlib.resources.files("auditkit").joinpath("py.typed").is_file()


def test_the_extras_exist_and_the_base_has_no_torch(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    assert {"embed", "train", "ray", "all", "dev"} <= set(extras)
    base = {normalised(re.split(r"[^\w.-]", requirement)[0]) for requirement in project["dependencies"]}
    assert not base & {"torch", "transformers", "sentence-transformers", "ray"}


def test_every_imported_package_is_declared(root: Path, project: dict[str, Any]) -> None:
    assert undeclared(root / "auditkit", project) == []


def test_an_undeclared_import_is_seen(tmp_path: Path, project: dict[str, Any]) -> None:
    code = "import os, left_pad.core\nfrom sklearn import metrics\ndef f():\n    import_module('rightpad.x')\n"
    (tmp_path / "odd.py").write_text(code, encoding="utf-8")
    assert undeclared(tmp_path, project) == ["odd.py: left_pad", "odd.py: rightpad"]


def test_the_constraints_pin_every_direct_dependency_and_only_those(root: Path, project: dict[str, Any]) -> None:
    lines = (root / "scripts/constraints.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("#")[0].strip() for line in lines]
    names = {normalised(re.split(r"[=<>!~]", row)[0]) for row in rows if row}
    assert names <= declared(project, with_dev=True)
    extras = project["optional-dependencies"]
    needed = declared({"dependencies": [*project["dependencies"], *extras["embed"]], "optional-dependencies": {}})
    assert needed <= names
    assert all("==" in row or row == "torch<2.14" for row in rows if row)
    assert not re.search(r"https?:|@|/", "\n".join(rows))
