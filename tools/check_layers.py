#!/usr/bin/env python3
"""Checks who includes whom: a folder of src/ may only include the folders that its row names. Exit 1 on a breach."""
import pathlib
import re
import subprocess
import sys

# folder -> folders it may include besides itself (docs/map.md shows it as a picture).
BELOW_MODELS = {"base", "platform", "policy", "kernels", "tensor", "attention", "parallel", "nn", "weights", "text",
                "schedulers", "residency", "pipeline"}
MAY = {
    "base": set(),
    "platform": {"base"},
    "kernels": {"base"},
    "policy": {"base", "platform"},
    "text": {"base"},
    "media": {"base"},
    "tensor": {"base"},
    "weights": {"base", "tensor"},
    "attention": {"base", "platform", "policy", "kernels", "tensor"},
    "parallel": {"base", "tensor", "attention", "policy"},
    "nn": {"base", "tensor", "weights", "attention", "policy", "parallel", "kernels"},
    "schedulers": {"base", "tensor"},
    "residency": {"base", "tensor", "weights", "platform"},
    "pipeline": {"base", "tensor", "nn", "schedulers", "residency", "parallel", "attention", "policy", "weights"},
    "models": BELOW_MODELS,
    "runtime": BELOW_MODELS | {"models"},
    "torch_op": {"base", "tensor", "platform", "policy", "attention"},
    "api": {"base", "tensor", "media", "pipeline", "runtime"},
    "bench_support": {"base", "kernels", "tensor", "attention", "policy", "platform"},
    "apps": BELOW_MODELS | {"models", "runtime", "media", "bench_support"},
}
NO_TORCH = {"base", "platform", "kernels", "policy", "text", "media"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def layer_of(path: str) -> str:
    """'attention/policy/rules.h' is layer policy; else the first folder."""
    parts = path.split("/")
    return "policy" if parts[:2] == ["attention", "policy"] else parts[0]


def breaches(root: pathlib.Path, name: str) -> list[str]:
    layer = layer_of(name.removeprefix("src/"))
    if layer not in MAY:
        return [f"{name}: folder {layer} has no row in tools/check_layers.py"]
    found = []
    for kind, target in INCLUDE.findall((root / name).read_text(encoding="utf-8")):
        if kind == "<" and re.match(r"(torch/torch|ATen/ATen)\.h", target):
            found.append(f"{name}: includes <{target}>; add the operator to tensor/aten.h instead")
        if kind == "<" and layer in NO_TORCH and re.match(r"(torch|ATen|c10)/", target):
            found.append(f"{name}: {layer}/ must not see torch (<{target}>)")
        other = layer_of(target)
        if kind == '"' and other in MAY and other != layer and other not in MAY[layer]:
            found.append(f"{name}: {layer}/ must not include {other}/ ({target})")
    return found


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "src"], cwd=root, capture_output=True, text=True, check=True).stdout
    sources = [n for n in listed.split() if n.endswith((".h", ".cpp", ".cu", ".inl"))]
    found = [line for name in sources for line in breaches(root, name)]
    print("\n".join(found) if found else f"layers: {len(sources)} files, no breach")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
