#!/usr/bin/env bash
# What every change has to pass: all files compile, all tests are green.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python -m compileall -q .
python -m pytest -q
