"""Trains the autoencoder of the demo model; two processes share each batch, since threads wait too much on a busy machine."""
import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from diffusers import AutoencoderKL

from catalog import COLOURS, SIZE
from data import compose, render_all
from muon import Muon

CHANNELS = (32, 32, 64, 128)
LATENT_CHANNELS = 16


def build_vae():
    levels = len(CHANNELS)
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * levels, up_block_types=("UpDecoderBlock2D",) * levels,
        block_out_channels=CHANNELS, layers_per_block=1, latent_channels=LATENT_CHANNELS, norm_num_groups=8,
        sample_size=SIZE, use_quant_conv=False, use_post_quant_conv=False)


def batch_of(rgba, count, rng):
    """Random subjects, one in five on a random colour, so that no background is special to the decoder."""
    palette = list(COLOURS.values())
    colours = [palette[rng.integers(len(palette))] if rng.random() < 0.8 else rng.uniform(0, 255, 3)
               for _ in range(count)]
    pictures = [compose(rgba[i], c) for i, c in zip(rng.integers(0, len(rgba), count), colours)]
    return as_tensor(np.stack(pictures))


def as_tensor(pictures):
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def psnr(vae, rgba, every=1):
    """Mean PSNR over the subjects, each on one of the ten backgrounds."""
    palette = list(COLOURS.values())
    errors = []
    for i in range(0, len(rgba), every):
        x = as_tensor(compose(rgba[i], palette[i % len(palette)])[None])
        y = vae.decode(vae.encode(x).latent_dist.mode()).sample.clamp(-1, 1)
        errors.append(((x - y) / 2).square().mean())
    return (-10 * torch.stack(errors).log10()).mean().item()


def optimizers(module, lr, is_inner):
    """Muon for the matrices in the middle, Adam for the rest (ends, biases, norms, tables)."""
    inner = [p for n, p in module.named_parameters() if p.requires_grad and p.ndim > 1 and is_inner(n)]
    chosen = {id(p) for p in inner}
    rest = [p for p in module.parameters() if p.requires_grad and id(p) not in chosen]
    return [Muon(inner, lr), torch.optim.Adam(rest, lr, betas=(0.9, 0.99))]


def set_rate(opts, lr):
    for opt in opts:
        for group in opt.param_groups:
            group["lr"] = lr


def share_gradients(module, world):
    if world == 1:
        return
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat)
    for g, part in zip(grads, flat.split([g.numel() for g in grads])):
        g.copy_(part.view_as(g) / world)


def loss_of(vae, x, kl_weight):
    posterior = vae.encode(x).latent_dist
    y = vae.decode(posterior.sample()).sample
    error = y - x
    kl = posterior.kl().mean() / posterior.mean[0].numel()
    mse = error.square().mean()
    return error.abs().mean() + 2 * mse + kl_weight * kl, (mse.item(), kl.item())


def worker(rank, args):
    torch.set_num_threads(1)
    if args.processes > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{args.port}", rank=rank,
                                world_size=args.processes)
    torch.manual_seed(0)
    vae = build_vae().to(memory_format=torch.channels_last)
    if args.init:
        vae.load_state_dict(torch.load(args.init)["raw"])
    torch.manual_seed(rank)
    train(vae, rank, args)


def train(vae, rank, args):
    rgba = render_all(args.font)
    rng = np.random.default_rng([rank, int(time.time())])
    opts = optimizers(vae, args.lr, lambda n: "conv_in" not in n and n != "decoder.conv_out.weight")
    ema = {k: v.clone() for k, v in vae.state_dict().items()}
    start, seen, saved, step = time.time(), [], time.time(), 0
    clock = torch.zeros(1)
    while clock.item() < 1:
        clock[0] = (time.time() - start) / (args.minutes * 60)
        if args.processes > 1:
            dist.broadcast(clock, 0)
        done = clock.item()
        set_rate(opts, args.lr * min(1, (step + 1) / 30) * max(0.02, min(1, (1 - done) / args.decay)))
        loss, numbers = loss_of(vae, batch_of(rgba, args.batch, rng), args.kl)
        vae.zero_grad()
        loss.backward()
        share_gradients(vae, args.processes)
        for opt in opts:
            opt.step()
        step += 1
        follow(ema, vae, min(0.995, step / (step + 20)))
        seen.append(numbers)
        if rank == 0 and (time.time() - saved > 100 or done >= 1):
            saved = time.time()
            save(vae, ema, args.out)
            report(step, done, seen, ema, rgba, full=done >= 1)
            seen = []


@torch.no_grad()
def follow(ema, module, keep):
    for k, v in module.state_dict().items():
        ema[k].lerp_(v, 1 - keep)


def save(vae, ema, path):
    torch.save({"ema": ema, "raw": vae.state_dict()}, path + ".part")
    os.replace(path + ".part", path)


def report(step, done, seen, ema, rgba, full):
    mse, kl = np.mean(seen, axis=0)
    average = build_vae()
    average.load_state_dict(ema)
    print(f"{time.strftime('%H:%M')} {done:.0%} step {step} training psnr {-10 * np.log10(mse / 4):.2f} kl {kl:.2f} "
          f"average's psnr {psnr(average, rgba, 1 if full else 7):.2f}", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--font", required=True, help="NotoColorEmoji.ttf")
    ap.add_argument("--out", default="vae.pt")
    ap.add_argument("--init", help="go on from this file")
    ap.add_argument("--minutes", type=float, default=30)
    ap.add_argument("--processes", type=int, default=1, help="with one thread each")
    ap.add_argument("--port", type=int, default=29511)
    ap.add_argument("--batch", type=int, default=4, help="pictures per process and step")
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--decay", type=float, default=0.6, help="share of the time in which the rate falls to zero")
    ap.add_argument("--kl", type=float, default=3e-4)
    args = ap.parse_args()
    torch.multiprocessing.spawn(worker, (args,), args.processes)


if __name__ == "__main__":
    main()
