"""Doubles every inner channel of a trained autoencoder without changing what it computes, so that training goes on with
more room: the latents stay what the transformer knows. (Chen et al. 2016, Net2Net.)"""
import argparse
import math

import torch


def split(weight, dim):
    """Two shares of each input channel that add up to it, uneven so that the twins learn different things."""
    share = torch.empty_like(weight).uniform_(0.2, 0.8)
    return torch.stack([weight * share, weight * (1 - share)], dim + 1).flatten(dim, dim + 1)


def widen(name, tensor):
    if tensor.ndim == 1:
        wide = tensor if is_end(name) else tensor.repeat_interleave(2)
    else:
        wide = tensor if name.endswith("conv_in.weight") else split(tensor, 1)
        wide = wide if is_end(name) else wide.repeat_interleave(2, 0)
    # Twin channels double the scores, twice the width divides them by sqrt(2) only.
    return wide / math.sqrt(2) if ".to_q." in name else wide


def is_end(name):
    return name.startswith(("encoder.conv_out.", "decoder.conv_out."))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("init")
    ap.add_argument("out")
    args = ap.parse_args()
    torch.manual_seed(2)
    states = {}
    for kind, state in torch.load(args.init).items():
        states[kind] = {name: widen(name, tensor) for name, tensor in state.items()}
    torch.save(states, args.out)


if __name__ == "__main__":
    main()
