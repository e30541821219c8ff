set -eu
python -m compileall -q .
python -m pytest -q
