#!/bin/sh
# Prints the folder of the torch package to build against: TESSERA_TORCH, the project's own, or the active Python's.
here=$(cd "$(dirname "$0")/.." && pwd)
usable() { [ -f "$1/lib/libtorch_cpu.so" ] && [ -d "$1/include/ATen" ]; }
if [ -n "$TESSERA_TORCH" ] && usable "$TESSERA_TORCH"; then echo "$TESSERA_TORCH"; exit 0; fi
for d in "$here"/.deps/venv/lib/python3*/site-packages/torch; do
  if usable "$d"; then echo "$d"; exit 0; fi
done
d=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null)
if [ -n "$d" ] && usable "$d"; then echo "$d"; exit 0; fi
exit 1
