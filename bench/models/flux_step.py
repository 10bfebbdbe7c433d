#!/usr/bin/env python3
"""One denoise step of a FLUX-shaped model: ours in every quality against diffusers in every type; same weights, same
inputs, same threads, interleaved.

  python bench/models/flux_step.py build/release/flux_step WORK_FOLDER [--size 512 --turns 2 --threads 2 --out FILE ...]

Makes the random model in WORK_FOLDER (once, in float32 and bfloat16), runs the rows in turns, each turn in a process
of its own with one call to warm up, and prints one JSON object: medians of wall and processor seconds per call, peak
memory, and the error of each result against diffusers' float32 (rms and largest, over the rms of the result).
Processor seconds stay meaningful on a machine that others use too.
"""
import argparse
import importlib.metadata
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

# name -> (whose, stored weights, arithmetic type, quality)
ROWS = {
    "diffusers fp32": ("diffusers", "fp32", "fp32", None),
    "diffusers fp16": ("diffusers", "fp32", "fp16", None),
    "diffusers bf16": ("diffusers", "bf16", "bf16", None),
    "exact": ("tessera", "fp32", "fp32", "exact"),
    "exact, bf16 weights": ("tessera", "bf16", "fp32", "exact"),
    "exact, bf16 throughout": ("tessera", "bf16", "bf16", "exact"),
    "high": ("tessera", "fp32", "fp32", "high"),
    "fast": ("tessera", "fp32", "fp32", "fast"),
    "fast, bf16 throughout": ("tessera", "bf16", "bf16", "fast"),
}
TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("folder", type=pathlib.Path)
for name, value in dict(double=3, single=6, heads=12, size=512, text=512, runs=2, turns=2, threads=2).items():
    parser.add_argument(f"--{name}", type=int, default=value)
parser.add_argument("--rows", default=",".join(r.replace(",", ";") for r in ROWS), help="names of rows; ';' for ','")
parser.add_argument("--out", type=pathlib.Path, help="also write the JSON there")
parser.add_argument("--reference", nargs=3, metavar=("STORED", "TYPE", "OUTPUT"), help="diffusers' half, for itself")
args = parser.parse_args()


def model_folder(stored):
    return args.folder / f"{args.double}x{args.single}x{args.heads}" / stored


def inputs_file():
    return args.folder / f"inputs_{args.size}_{args.text}.safetensors"


def make_model():
    import torch
    from diffusers import FluxTransformer2DModel
    torch.manual_seed(0)
    model = FluxTransformer2DModel(num_layers=args.double, num_single_layers=args.single, attention_head_dim=128,
                                   num_attention_heads=args.heads, joint_attention_dim=4096, pooled_projection_dim=768,
                                   guidance_embeds=True)
    model.save_pretrained(model_folder("fp32"), max_shard_size="20GB")
    model.to(torch.bfloat16).save_pretrained(model_folder("bf16"), max_shard_size="20GB")


def make_inputs():
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(1)
    side = args.size // 16
    ids = torch.zeros(side, side, 3)
    ids[..., 1] += torch.arange(side)[:, None]
    ids[..., 2] += torch.arange(side)[None, :]
    save_file(dict(hidden_states=torch.randn(1, side * side, 64), timestep=torch.tensor([0.5]),
                   guidance=torch.tensor([3.5]), pooled_projections=torch.randn(1, 768),
                   encoder_hidden_states=torch.randn(1, args.text, 4096), txt_ids=torch.zeros(args.text, 3),
                   img_ids=ids.reshape(-1, 3)), inputs_file())


def peak_bytes():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def reference(stored, dtype, output):
    import torch
    from diffusers import FluxTransformer2DModel
    from safetensors.torch import load_file
    torch.set_num_threads(args.threads)
    kind = getattr(torch, TYPES[dtype])
    model = FluxTransformer2DModel.from_pretrained(model_folder(stored), torch_dtype=kind)
    call = {k: v.to(kind) if v.dim() > 1 and "ids" not in k else v for k, v in load_file(inputs_file()).items()}
    call["timestep"] = call["timestep"].to(kind)
    out = {"wall": [], "cpu": [], "parameters": sum(p.numel() for p in model.parameters())}
    with torch.inference_mode():
        for _ in range(args.runs + 1):
            wall, cpu = time.perf_counter(), time.process_time()
            result = model(**call).sample
            out["cpu"].append(time.process_time() - cpu)
            out["wall"].append(time.perf_counter() - wall)
    result.float().numpy().tofile(output)
    out["peak_bytes"] = peak_bytes()
    print(json.dumps(out))


def run_row(name):
    whose, stored, dtype, quality = ROWS[name]
    output = args.folder / f"out_{list(ROWS).index(name)}.f32"
    if whose == "tessera":
        command = [args.program, model_folder(stored), inputs_file(), dtype, quality, args.runs + 1, args.threads, output]
    else:
        command = [sys.executable, "-W", "ignore", __file__, *sys.argv[1:], "--reference", stored, dtype, output]
    printed = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
    return json.loads(printed.strip().splitlines()[-1]), output


def errors(output, truth):
    import numpy
    got, want = numpy.fromfile(output, numpy.float32), numpy.fromfile(truth, numpy.float32)
    rms = float(numpy.sqrt(numpy.mean(want.astype(numpy.float64) ** 2)))
    difference = (got - want).astype(numpy.float64)
    return {"rms_error": float(f"{numpy.sqrt(numpy.mean(difference ** 2)) / rms:.3g}"),
            "max_error": float(f"{numpy.abs(difference).max() / rms:.3g}")}


def cpu_name():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main():
    if not model_folder("bf16").joinpath("config.json").exists():
        make_model()
    if not inputs_file().exists():
        make_inputs()
    names = [r.replace(";", ",") for r in args.rows.split(",")]
    seen = {name: {"wall": [], "cpu": [], "peak": 0} for name in names}
    isa = parameters = None
    for _ in range(args.turns):
        for name in names:
            row, seen[name]["output"] = run_row(name)
            for kind in ("wall", "cpu"):
                seen[name][kind] += row[kind][1:]
            seen[name]["peak"] = max(seen[name]["peak"], row["peak_bytes"])
            isa, parameters = row.get("isa", isa), row.get("parameters", parameters)
    best = min((statistics.median(v["wall"]) for n, v in seen.items() if n.startswith("diffusers")), default=None)
    truth = seen.get("diffusers fp32", {}).get("output")
    rows = []
    for name, v in seen.items():
        wall = statistics.median(v["wall"])
        rows.append({"row": name, "wall_s": round(wall, 4), "cpu_s": round(statistics.median(v["cpu"]), 4),
                     "over_best_diffusers": round(best / wall, 3) if best else None,
                     "peak_mb": round(v["peak"] / 1e6), **(errors(v["output"], truth) if truth else {})})
    result = {"machine": {"cpu": cpu_name(), "isa": isa, "threads": args.threads},
              "versions": {m: importlib.metadata.version(m) for m in ("torch", "diffusers")},
              "model": {"double": args.double, "single": args.single, "hidden": 128 * args.heads,
                        "parameters": parameters},
              "size": args.size, "text": args.text, "calls": args.runs * args.turns, "rows": rows}
    print(json.dumps(result, indent=1))
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


reference(*args.reference) if args.reference else main()
