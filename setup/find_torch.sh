#!/bin/sh
# Prints the folder of the torch package to build against: TESSERA_TORCH, the project's own, or the active Python's.
here=$(cd "$(dirname "$0")/.." && pwd)
usable() { [ -f "$1/lib/libtorch_cpu.so" ] && [ -d "$1/include/ATen" ] && [ -f "$1/version.py" ]; }
# 2.11 is the oldest release that the project was built against.
recent() { grep -qE "^__version__ = '(2\.(1[1-9]|[2-9][0-9])|[3-9])" "$1/version.py"; }

if [ -n "$TESSERA_TORCH" ]; then
  usable "$TESSERA_TORCH" && { echo "$TESSERA_TORCH"; exit 0; }
  echo "error: TESSERA_TORCH=$TESSERA_TORCH is no torch package (lib/libtorch_cpu.so, include/ATen)" >&2
  exit 1
fi
for d in "$here"/.deps/venv/lib/python3*/site-packages/torch; do
  usable "$d" && { echo "$d"; exit 0; }
done
d=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null)
[ -n "$d" ] && usable "$d" && recent "$d" && { echo "$d"; exit 0; }
exit 1
