#!/usr/bin/env python3
"""Single calls of Qwen-Image's, Wan's and FLUX's parts: ours against diffusers, same weights, same threads, interleaved.

  python bench/models/model_call.py build/release/model_call WORK_FOLDER [KIND ...] [--threads 2]

Makes a random model of each kind in WORK_FOLDER (once), runs the two in turns, each turn in a process of its own with
one call to warm up, and prints the median and best of wall seconds and the median of processor seconds per call, one
JSON line a kind. The best stays meaningful on a machine that others use too.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

# Sizes in latent cells: frames, height, width; then text tokens. Models of 0.3-0.6 billion parameters, but the
# autoencoders, which have their published size.
KINDS = {
    "qwen-image": dict(size=(1, 64, 64, 256), model="QwenImageTransformer2DModel",
                       config=dict(num_layers=6, attention_head_dim=128, num_attention_heads=12,
                                   joint_attention_dim=3584)),
    "wan": dict(size=(5, 44, 80, 512), model="WanTransformer3DModel",
                config=dict(num_layers=9, attention_head_dim=128, num_attention_heads=12, ffn_dim=8960, in_channels=48,
                            out_channels=48, text_dim=4096)),
    "wan-vae": dict(size=(2, 16, 16, 0), model="AutoencoderKLWan", config={}),
    "qwen-vae": dict(size=(1, 64, 64, 0), model="AutoencoderKLQwenImage", config={}, program="wan-vae"),
    "kl-vae": dict(size=(1, 64, 64, 0), model="AutoencoderKL",
                   config=dict(block_out_channels=(128, 256, 512, 512), latent_channels=16, layers_per_block=2,
                               down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                               use_quant_conv=False, use_post_quant_conv=False)),
}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("kinds", nargs="*")
for name, value in dict(runs=2, turns=2, threads=2).items():
    parser.add_argument(f"--{name}", type=int, default=value)
parser.add_argument("--reference", action="store_true", help="the diffusers half, run by this script itself")
args = parser.parse_args()


def class_of(kind):
    import diffusers
    return getattr(diffusers, KINDS[kind]["model"])


def call_of(kind, model):
    """The one call that is timed, ready to be made again and again."""
    import torch
    frames, height, width, text = KINDS[kind]["size"]
    c = model.config
    if kind == "qwen-image":
        inputs = dict(hidden_states=torch.randn(1, height * width // 4, c.in_channels), timestep=torch.tensor([0.5]),
                      encoder_hidden_states=torch.randn(1, text, c.joint_attention_dim),
                      encoder_hidden_states_mask=None, img_shapes=[[(1, height // 2, width // 2)]])
        return lambda: model(**inputs)
    if kind == "wan":
        inputs = dict(hidden_states=torch.randn(1, c.in_channels, frames, height, width),
                      timestep=torch.tensor([500.0]), encoder_hidden_states=torch.randn(1, text, c.text_dim))
        return lambda: model(**inputs)
    if kind == "kl-vae":
        z = torch.randn(1, c.latent_channels, height, width)
    else:
        z = torch.randn(1, c.z_dim, frames, height, width)
    return lambda: model.decode(z)


def reference(kind):
    import torch
    torch.set_num_threads(args.threads)
    model = class_of(kind).from_pretrained(args.folder / kind).eval()
    call = call_of(kind, model)
    out = {"wall": [], "cpu": [], "parameters": sum(p.numel() for p in model.parameters())}
    with torch.inference_mode():
        for _ in range(args.runs + 1):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            out["cpu"].append(time.process_time() - cpu)
            out["wall"].append(time.perf_counter() - wall)
    print(json.dumps(out))


def measure(kind):
    folder = args.folder / kind
    if not (folder / "config.json").exists():
        class_of(kind)(**KINDS[kind]["config"]).save_pretrained(folder, max_shard_size="20GB")
    ours = [args.program, KINDS[kind].get("program", kind), folder, *KINDS[kind]["size"], args.runs + 1, args.threads]
    theirs = [sys.executable, __file__, args.program, args.folder, kind, "--reference", "--runs", args.runs,
              "--threads", args.threads]
    seconds = {"ours": {"wall": [], "cpu": []}, "diffusers": {"wall": [], "cpu": []}}
    for _ in range(args.turns):
        for name, command in (("ours", ours), ("diffusers", theirs)):
            printed = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
            row = json.loads(printed.strip().splitlines()[-1])
            for clock in ("wall", "cpu"):
                seconds[name][clock] += row[clock][1:]
            parameters = row.get("parameters")
    result = {name: {"median": round(statistics.median(kinds["wall"]), 4), "best": round(min(kinds["wall"]), 4),
                     "cpu": round(statistics.median(kinds["cpu"]), 4)} for name, kinds in seconds.items()}
    ratio = {k: round(result["ours"][k] / result["diffusers"][k], 4) for k in ("median", "best", "cpu")}
    print(json.dumps({"kind": kind, **result, "ratio": ratio, "parameters": parameters, "size": KINDS[kind]["size"],
                      "threads": args.threads, "calls": len(seconds["ours"]["wall"])}), flush=True)


for chosen in args.kinds or KINDS:
    reference(chosen) if args.reference else measure(chosen)
