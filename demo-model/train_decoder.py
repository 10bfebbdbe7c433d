"""Goes on with the decoder alone while the frozen encoder's latents train the transformer."""
import argparse
import time

import numpy as np
import torch

from catalog import COLOURS
from data import compose, render_all
from train_flow import encode_pairs
from train_vae import as_tensor, build_vae, follow, optimizers, report, save, set_rate

NOISE = 0.08    # of the latents' deviation: about what the sampled latents are off by, so the decoder forgives it


def batches(rgba, latents, size):
    colours = list(COLOURS.values())
    spread = NOISE * latents.std()
    while True:
        who = np.random.randint(len(rgba), size=size)
        what = np.random.randint(len(colours), size=size)
        pictures = as_tensor(np.stack([compose(rgba[i], colours[j]) for i, j in zip(who, what)]))
        z = latents[who, what]
        yield z + spread * torch.rand(size, 1, 1, 1) * torch.randn_like(z), pictures


def train(vae, rgba, latents, args):
    vae.encoder.requires_grad_(False)
    opts = optimizers(vae, args.lr, lambda n: "conv_in" not in n and n != "decoder.conv_out.weight")
    ema = {k: v.clone() for k, v in vae.state_dict().items()}
    start = saved = time.time()
    done, step, seen = 0.0, 0, []
    for z, x in batches(rgba, latents, args.batch):
        if done >= 1:
            return
        done = (time.time() - start) / (args.minutes * 60)
        set_rate(opts, args.lr * min(1, (step + 1) / 30) * max(0.02, min(1, (1 - done) / args.decay)))
        error = vae.decode(z).sample - x
        mse = error.square().mean()
        vae.zero_grad()
        (error.abs().mean() + 2 * mse).backward()
        for opt in opts:
            opt.step()
        step += 1
        follow(ema, vae, min(0.998, step / (step + 20)))
        seen.append((mse.item(), 0.0))
        if time.time() - saved > 180 or done >= 1:
            saved = time.time()
            save(vae, ema, args.out)
            report(step, done, seen, ema, rgba, full=done >= 1)
            seen = []


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--font", required=True, help="NotoColorEmoji.ttf")
    ap.add_argument("--init", default="vae.pt", help="the autoencoder to go on with")
    ap.add_argument("--weights", default="ema", choices=("ema", "raw"))
    ap.add_argument("--out", default="decoder.pt")
    ap.add_argument("--minutes", type=float, default=30)
    ap.add_argument("--batch", type=int, default=3)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--decay", type=float, default=0.7, help="share of the time in which the rate falls to zero")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    vae = build_vae().to(memory_format=torch.channels_last)
    vae.load_state_dict(torch.load(args.init)[args.weights])
    rgba = render_all(args.font)
    train(vae, rgba, encode_pairs(vae, rgba), args)


if __name__ == "__main__":
    main()
