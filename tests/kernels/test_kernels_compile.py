"""Kernels are cached in a folder of their own, and work where none can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from auditkit.kernels import compile as compiling
from auditkit.kernels import hashing

USE_KERNELS = """
from auditkit.kernels import compile as compiling
from auditkit.kernels.table import build_table, find_all
import numpy as np
assert compiling.CACHE_FOLDER is None and not compiling.is_warm()
table = build_table(np.array([5, 9], np.uint64), np.array([1, 2], np.int64))
assert find_all(table, np.array([9, 5, 4], np.uint64)).tolist() == [2, 1, -1]
print("works")
"""


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """Return a path that no folder can be made of, for whichever user: a file is in the way."""
    (tmp_path / "file").write_text("in the way")
    return tmp_path / "file" / "cache"


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(tmp_path / "mine"))
    folder = compiling.cache_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "mine")
    assert list(folder.iterdir()) == []


def test_without_a_writable_folder_there_is_no_cache(unwritable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITKIT_CACHE", str(unwritable))
    assert compiling.cache_folder() is None


def test_kernels_work_without_a_cache(unwritable: Path, root: Path) -> None:
    env = {**os.environ, "AUDITKIT_CACHE": str(unwritable), "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", USE_KERNELS], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "works\n", done.stderr


def test_the_folder_changes_with_any_kernel_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "kernels"
    shutil.copytree(Path(compiling.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = compiling._sources_digest()
    monkeypatch.setattr(compiling, "__file__", str(copy / "compile.py"))
    assert compiling._sources_digest() == before
    (copy / "hashing.py").write_text((copy / "hashing.py").read_text() + "\n# changed\n")
    assert compiling._sources_digest() != before


def test_the_folder_changes_with_the_version_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiling._sources_digest()
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    assert compiling._sources_digest() != before


def test_other_libraries_kernels_keep_their_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/elsewhere")
    compiling.kernel(hashing.finish.py_func)
    assert numba.config.CACHE_DIR == "/elsewhere"

    def broken() -> int:
        return 1

    monkeypatch.setattr(numba, "njit", lambda **_: (_ for _ in ()).throw(RuntimeError("no")))
    with pytest.raises(RuntimeError):
        compiling.kernel(broken)
    assert numba.config.CACHE_DIR == "/elsewhere"


def test_kernels_are_compiled_without_the_lock_and_cached() -> None:
    assert hashing.sequence_hashes.targetoptions["nogil"]
    if compiling.CACHE_FOLDER is not None:
        assert hashing.sequence_hashes._cache.cache_path.startswith(str(compiling.CACHE_FOLDER))
