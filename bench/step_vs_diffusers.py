#!/usr/bin/env python3
"""One denoise step of a FLUX-shaped model: this build against diffusers, same weights, threads and request, interleaved.

Makes a random model (hidden size, depth and sizes by flags; 483 M parameters by default) in a scratch folder, then runs
both sides in turn and prints one JSON object with medians and the ratio diffusers / tessera (above 1: we are faster).
Needs torch, diffusers and transformers (make bench sets them up).
"""
import argparse
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import torch
from diffusers import FluxPipeline, FluxTransformer2DModel

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def make_model(base: pathlib.Path, folder: pathlib.Path, args) -> None:
    """The small encoders and VAE of `base` with a large random transformer."""
    shutil.copytree(base, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("transformer"))
    config = json.loads((base / "transformer" / "config.json").read_text())
    heads = args.hidden // 128
    torch.manual_seed(0)
    model = FluxTransformer2DModel(
        in_channels=config["in_channels"], num_layers=args.double, num_single_layers=args.single,
        attention_head_dim=128, num_attention_heads=heads, joint_attention_dim=config["joint_attention_dim"],
        pooled_projection_dim=config["pooled_projection_dim"], guidance_embeds=config["guidance_embeds"],
        axes_dims_rope=(16, 56, 56))
    print(f"# {sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters", flush=True)
    model.to(DTYPES[args.weights]).save_pretrained(folder / "transformer")


def run_tessera(args, folder: pathlib.Path, size: int, dtype: str, quality: str) -> tuple[list[float], int]:
    out = subprocess.run(
        [args.program, "generate", "--model", str(folder), "--prompt", "a red bicycle", "--height", str(size), "--width",
         str(size), "--steps", str(args.steps), "--max-sequence-length", str(args.text), "--seed", "1", "--dtype", dtype,
         "--quality", quality, "--threads", str(args.threads), "--json", "--out", str(folder / "out.png")],
        capture_output=True, text=True, check=True).stdout
    result = json.loads(out)
    return result["timings"]["denoise"], result["peak_rss_bytes"]


class Diffusers:
    def __init__(self, folder: pathlib.Path, dtype: str):
        self.pipe = FluxPipeline.from_pretrained(folder, torch_dtype=DTYPES[dtype])
        self.pipe.set_progress_bar_config(disable=True)

    def run(self, args, size: int) -> list[float]:
        times = []

        def at_step_end(pipe, step, timestep, tensors):
            times.append(time.perf_counter())
            return tensors

        with torch.inference_mode():
            embeds, pooled, _ = self.pipe.encode_prompt("a red bicycle", None, max_sequence_length=args.text)
            begin = time.perf_counter()
            self.pipe(prompt_embeds=embeds, pooled_prompt_embeds=pooled, height=size, width=size,
                      num_inference_steps=args.steps, output_type="latent", callback_on_step_end=at_step_end)
        # The first step carries the preparation of latents and rotary tables on both sides' clocks; it is dropped below.
        return [b - a for a, b in zip([begin] + times, times)]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--program", default="build/release/tessera")
    p.add_argument("--base", default="tests/golden/pipelines/flux1-dev/model", help="a FLUX folder with small encoders")
    p.add_argument("--hidden", type=int, default=1536)
    p.add_argument("--double", type=int, default=3)
    p.add_argument("--single", type=int, default=6)
    p.add_argument("--tokens", type=int, default=1024, help="image tokens (1024: 512 x 512 pixels of a full-size VAE)")
    p.add_argument("--text", type=int, default=512)
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=torch.get_num_threads())
    p.add_argument("--weights", default="fp32", choices=DTYPES)
    p.add_argument("--ours", default="fp32:exact", help="DTYPE:QUALITY, several by commas")
    p.add_argument("--theirs", default="fp32", help="DTYPE, several by commas")
    args = p.parse_args()
    torch.set_num_threads(args.threads)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera_bench_"))
    try:
        make_model(pathlib.Path(args.base), folder, args)
        vae = json.loads((folder / "vae" / "config.json").read_text())
        size = int(args.tokens ** 0.5) * 2 * 2 ** (len(vae["block_out_channels"]) - 1)
        ours = {name: [] for name in args.ours.split(",")}
        theirs = {name: Diffusers(folder, name) for name in args.theirs.split(",")}
        seen = {name: [] for name in theirs}
        peak = {}
        for _ in range(args.rounds):
            for name in ours:
                times, peak[name] = run_tessera(args, folder, size, *name.split(":"))
                ours[name] += times[1:]
            for name, pipe in theirs.items():
                seen[name] += pipe.run(args, size)[1:]
        best = min(statistics.median(t) for t in seen.values())
        print(json.dumps({
            "shape": vars(args) | {"size": size}, "torch": torch.__version__,
            "tessera_s": {n: statistics.median(t) for n, t in ours.items()},
            "tessera_min_s": {n: min(t) for n, t in ours.items()},
            "diffusers_s": {n: statistics.median(t) for n, t in seen.items()},
            "diffusers_min_s": {n: min(t) for n, t in seen.items()},
            "ratio_to_best_diffusers": {n: best / statistics.median(t) for n, t in ours.items()},
            "tessera_peak_rss_bytes": peak,
            "diffusers_peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
