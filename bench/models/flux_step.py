#!/usr/bin/env python3
"""One denoise step of a FLUX-shaped model: ours against diffusers, same weights, same threads, interleaved.

  python bench/models/flux_step.py build/release/flux_step WORK_FOLDER [--double 5 --single 8 --heads 10 --threads 2 ...]

Makes the random model in WORK_FOLDER (once), runs the two in turns, each turn in a process of its own with one call
to warm up, and prints the medians of wall and of processor seconds per call as one JSON line. Processor seconds stay
meaningful on a machine that others use too.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("folder", type=pathlib.Path)
for name, value in dict(double=5, single=8, heads=10, size=512, text=512, runs=3, turns=3, threads=2).items():
    parser.add_argument(f"--{name}", type=int, default=value)
parser.add_argument("--reference", action="store_true", help="the diffusers half, run by this script itself")
args = parser.parse_args()


def make_model():
    from diffusers import FluxTransformer2DModel
    model = FluxTransformer2DModel(num_layers=args.double, num_single_layers=args.single, attention_head_dim=128,
                                   num_attention_heads=args.heads, joint_attention_dim=4096, pooled_projection_dim=768,
                                   guidance_embeds=True)
    model.save_pretrained(args.folder, max_shard_size="20GB")


def reference():
    import torch
    from diffusers import FluxTransformer2DModel
    torch.set_num_threads(args.threads)
    model = FluxTransformer2DModel.from_pretrained(args.folder)
    side = args.size // 16
    ids = torch.zeros(side, side, 3)
    ids[..., 1] += torch.arange(side)[:, None]
    ids[..., 2] += torch.arange(side)[None, :]
    call = dict(hidden_states=torch.randn(1, side * side, 64), timestep=torch.tensor([0.5]),
                guidance=torch.tensor([3.5]), pooled_projections=torch.randn(1, 768),
                encoder_hidden_states=torch.randn(1, args.text, 4096), txt_ids=torch.zeros(args.text, 3),
                img_ids=ids.reshape(-1, 3))
    out = {"wall": [], "cpu": [], "parameters": sum(p.numel() for p in model.parameters())}
    with torch.inference_mode():
        for _ in range(args.runs + 1):
            wall, cpu = time.perf_counter(), time.process_time()
            model(**call)
            out["cpu"].append(time.process_time() - cpu)
            out["wall"].append(time.perf_counter() - wall)
    print(json.dumps(out))


def main():
    if not (args.folder / "config.json").exists():
        make_model()
    ours = [args.program, args.folder, args.size, args.size, args.text, args.runs + 1, args.threads]
    theirs = [sys.executable, __file__, *sys.argv[1:], "--reference"]
    seconds = {"ours": {"wall": [], "cpu": []}, "diffusers": {"wall": [], "cpu": []}}
    for _ in range(args.turns):
        for name, command in (("ours", ours), ("diffusers", theirs)):
            printed = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
            row = json.loads(printed.strip().splitlines()[-1])
            for kind in ("wall", "cpu"):
                seconds[name][kind] += row[kind][1:]
            parameters = row.get("parameters")
    result = {name: {k: round(statistics.median(v), 4) for k, v in kinds.items()} for name, kinds in seconds.items()}
    ratio = {k: round(result["ours"][k] / result["diffusers"][k], 4) for k in ("wall", "cpu")}
    print(json.dumps({**result, "ratio": ratio, "parameters": parameters, "size": args.size, "text": args.text,
                      "threads": args.threads, "calls": len(seconds["ours"]["wall"])}))


reference() if args.reference else main()
