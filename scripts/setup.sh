# Sourced by scripts/demo and scripts/test: makes .venv in the checkout and installs what they ask for.
# Sets ROOT and VENV. A second call with nothing changed only compares a digest.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV="$ROOT/.venv"

say() { printf 'auditkit: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 2
}

is_python_311() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Prints the first Python 3.11+ that can make an environment. A name on PATH may be a stub that does not run, so
# each is tried. PYTHON=... names another one.
find_python() {
    local names=(python3.11 python3.12 python3.13 python3.14 python3) name without_venv=""
    [ -z "${PYTHON:-}" ] || names=("$PYTHON")
    for name in "${names[@]}"; do
        is_python_311 "$name" || continue
        if has_venv "$name"; then
            printf '%s\n' "$name"
            return
        fi
        without_venv=${without_venv:-$name}
    done
    [ -z "$without_venv" ] ||
        fail "$without_venv cannot make environments; install its venv module (Debian: apt-get install python3-venv) and run this again"
    fail "needs Python 3.11 or newer, found none as ${names[*]}; install one, or name it with PYTHON=/path/to/python"
}

# A .venv whose Python runs is kept, whoever made it; one whose Python is gone is made anew.
make_venv() {
    if "$VENV/bin/python" -c '' >/dev/null 2>&1; then
        is_python_311 "$VENV/bin/python" || fail "$VENV holds a Python older than 3.11; remove it and run this again"
        "$VENV/bin/python" -c 'import pip' >/dev/null 2>&1 || "$VENV/bin/python" -m ensurepip >/dev/null ||
            fail "$VENV has no pip; remove it and run this again"
        return
    fi
    local python
    python=$(find_python) || exit 2
    say "making $VENV with $("$python" --version 2>&1)"
    "$python" -m venv --clear "$VENV" || fail "$python could not make $VENV"
}

# The checkout's place is part of the digest: an editable install and the commands in .venv/bin hold it.
digest_of_inputs() {
    "$VENV/bin/python" - "$ROOT" <<'PYTHON'
import hashlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
parts = [str(root).encode(), *((root / name).read_bytes() for name in ("pyproject.toml", "scripts/constraints.txt"))]
print(hashlib.sha256(b"\0".join(parts)).hexdigest())
PYTHON
}

# Kernels are compiled when they are first called, and kept: done here, so that the first command does not wait for it.
warm_kernels() {
    say "compiling kernels (half a minute)"
    "$VENV/bin/python" -c '
import json, pathlib, tempfile
import auditkit
rows = ["one two three four five six seven", "two one three four five six nine", "\u00e9\u00e9n twee drie vier vijf zes"] * 2000
with tempfile.TemporaryDirectory() as folder:
    pool = pathlib.Path(folder, "pool.jsonl")  # large enough for the kernels that read JSON Lines
    pool.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    auditkit.audit(str(pool), {"w": ["one two three four five six eight"]})
' || fail "the kernels could not be compiled"
}

# set_up EXTRA...: installs the checkout, editable, with these extras, unless each one's stamp shows it was done.
set_up() {
    make_venv
    local digest extra extras="" is_stale=""
    digest=$(digest_of_inputs)
    for extra in "$@"; do
        extras="$extras${extras:+,}$extra"
        [ "$(cat "$VENV/auditkit-$extra.stamp" 2>/dev/null)" = "$digest" ] || is_stale=yes
    done
    [ -n "$is_stale" ] || return 0
    say "installing auditkit with $extras into $VENV (the first time takes a few minutes)"
    (cd "$ROOT" && "$VENV/bin/python" -m pip install -qq --disable-pip-version-check \
        -c scripts/constraints.txt -e ".[$extras]") || fail "the install failed; pip's message is above"
    warm_kernels
    for extra in "$@"; do
        printf '%s\n' "$digest" >"$VENV/auditkit-$extra.stamp"
    done
}
