"""How kernels are compiled: numba without the GIL, cached in a folder named by what they were made from.

numba's own cache does not see a change in a called file and raises where its folder cannot be written. So the folder's
name carries a digest of all kernel sources and the versions of numba and Python, and where no folder can be written the
kernels are compiled anew in each process: slower to start, the same results.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs

F = TypeVar("F", bound=Callable[..., Any])


def _sources_digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:3]}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """Return the writable folder that holds compiled kernels, or None where there is none.

    AUDITKIT_CACHE overrides the user's cache folder.
    """
    base = os.environ.get("AUDITKIT_CACHE") or platformdirs.user_cache_dir("auditkit")
    folder = Path(base) / "kernels" / _sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


CACHE_FOLDER = cache_folder()


def is_warm() -> bool:
    """Return whether compiled kernels of this very version lie in the cache."""
    return CACHE_FOLDER is not None and any(CACHE_FOLDER.rglob("*.nbi"))


def kernel(function: F) -> F:
    """Return `function` compiled in nopython mode, without the GIL, cached where a cache can be written."""
    return _compiled(function)


def leaf(function: F) -> F:
    """Return a kernel that makes no array, compiled without counting references to those it is given.

    Two atomic counts an argument and call are a seventh of the scan's time, and more where threads share the arrays.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: F, **options: bool) -> F:
    before = numba.config.CACHE_DIR
    if CACHE_FOLDER is None:
        return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]
    try:
        # Other libraries' kernels keep their own folder: the setting is put back at once.
        numba.config.CACHE_DIR = str(CACHE_FOLDER)
        return numba.njit(nogil=True, cache=True, **options)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before
