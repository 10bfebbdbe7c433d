"""Trains transformer and both text encoders together, on the latents of a frozen autoencoder."""
import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch
from diffusers import FluxTransformer2DModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5TokenizerFast

from catalog import COLOURS, SIZE, left_out, subjects
from data import compose, render_all
from prompts import spellings
from train_vae import LATENT_CHANNELS, as_tensor, build_vae, follow, optimizers, set_rate
from vocabulary import write_both

TOKENS = 16             # max_sequence_length: few training prompts are longer, and CLIP sees all of them
CLIP_TOKENS = 24        # enough in training: CLIP is causal, so padding after the end cannot change the pooled state
WIDTH, HEADS = 128, 4   # of both text encoders


def clip_config(vocab):
    return {"architectures": ["CLIPTextModel"], "attention_dropout": 0.0, "bos_token_id": 0, "dropout": 0.0,
            "eos_token_id": 2, "hidden_act": "quick_gelu", "hidden_size": WIDTH, "initializer_factor": 1.0,
            "initializer_range": 0.02, "intermediate_size": 2 * WIDTH, "layer_norm_eps": 1e-05,
            "max_position_embeddings": 77, "model_type": "clip_text_model", "num_attention_heads": HEADS,
            "num_hidden_layers": 2, "pad_token_id": 1, "projection_dim": WIDTH, "vocab_size": vocab}


def t5_config(vocab):
    return {"architectures": ["T5EncoderModel"], "classifier_dropout": 0.0, "d_ff": 2 * WIDTH, "d_kv": WIDTH // HEADS,
            "d_model": WIDTH, "decoder_start_token_id": 0, "dense_act_fn": "gelu_new", "dropout_rate": 0.0,
            "eos_token_id": 1, "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0,
            "is_encoder_decoder": True, "is_gated_act": True, "layer_norm_epsilon": 1e-06, "model_type": "t5",
            "num_decoder_layers": 2, "num_heads": HEADS, "num_layers": 2, "output_past": True, "pad_token_id": 0,
            "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
            "tie_word_embeddings": False, "use_cache": True, "vocab_size": vocab}


class Flow(torch.nn.Module):
    """The three trained networks and the loss of one batch."""

    def __init__(self, clip_vocab, t5_vocab):
        super().__init__()
        self.clip = CLIPTextModel(CLIPTextConfig(**clip_config(clip_vocab)))
        self.t5 = T5EncoderModel(T5Config(**t5_config(t5_vocab)))
        self.transformer = FluxTransformer2DModel(
            patch_size=1, in_channels=4 * LATENT_CHANNELS, num_layers=2, num_single_layers=2, attention_head_dim=64,
            num_attention_heads=3, joint_attention_dim=WIDTH, pooled_projection_dim=WIDTH, guidance_embeds=False,
            axes_dims_rope=(16, 24, 24))
        start_as_identity(self.transformer)
        side = SIZE // 16
        grid = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2)
        self.image_ids = torch.cat([torch.zeros(side * side, 1), grid.float()], 1)
        self.text_ids = torch.zeros(TOKENS, 3)

    def loss(self, latents, clip_ids, t5_ids):
        pooled = self.clip(clip_ids).pooler_output
        text = self.t5(t5_ids).last_hidden_state
        sigma = (torch.randn(len(latents)) + 0.4).sigmoid()    # logit-normal times, towards noise: there text decides
        noise = torch.randn_like(latents)
        mixed = torch.lerp(latents, noise, sigma[:, None, None])
        velocity = self.transformer(
            hidden_states=mixed, timestep=sigma, pooled_projections=pooled, encoder_hidden_states=text,
            txt_ids=self.text_ids, img_ids=self.image_ids, return_dict=False)[0]
        return (velocity - (noise - latents)).square().mean()


def start_as_identity(transformer):
    """Blocks begin closed and the output as the normalised input: near pure noise that is already most of the answer."""
    for name, p in transformer.named_parameters():
        if ".linear." in name and "norm" in name:
            torch.nn.init.zeros_(p)
    into, out = transformer.x_embedder.weight, transformer.proj_out.weight    # [inner, channels], [channels, inner]
    torch.nn.init.orthogonal_(into)
    with torch.no_grad():
        out.copy_(into.T * (into.shape[1] / into.shape[0]) ** 0.5)    # undoes the gain of the last layer norm
        transformer.x_embedder.bias.zero_()
        transformer.proj_out.bias.zero_()


def pack(latents):
    """[N, C, H, W] to tokens of 2 x 2 positions, in the pipeline's order."""
    n, c, h, w = latents.shape
    return latents.view(n, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, h * w // 4, 4 * c)


@torch.no_grad()
def encode_pairs(vae, rgba):
    """Raw latents of every subject on every background, [subjects, colours, C, H, W]."""
    return torch.stack([vae.encode(as_tensor(np.stack([compose(picture, c) for c in COLOURS.values()])))
                        .latent_dist.mode() for picture in rgba])


def training_set(folder, latents):
    """Packed latents and token ids of all prompts, of the pairs that are not left out."""
    clip = CLIPTokenizer.from_pretrained(folder / "tokenizer")
    t5 = T5TokenizerFast.from_pretrained(folder / "tokenizer_2")
    pictures, clip_ids, t5_ids = [], [], []
    for i, (_, name) in enumerate(subjects()):
        for j, colour in enumerate(COLOURS):
            if left_out(name, colour):
                continue
            texts = spellings(name, colour)
            options = dict(padding="max_length", truncation=True, return_tensors="pt")
            clip_ids.append(clip(texts, max_length=CLIP_TOKENS, **options).input_ids)
            t5_ids.append(t5(texts, max_length=TOKENS, **options).input_ids)
            pictures.append(latents[i, j])
    return pack(torch.stack(pictures)), clip_ids, t5_ids


def batches(data, size):
    """Endless batches; each pair comes once per round, with a random prompt."""
    pictures, clip_ids, t5_ids = data
    order = []
    while True:
        while len(order) < size:
            order += torch.randperm(len(pictures)).tolist()
        now, order = order[:size], order[size:]
        pick = [int(torch.randint(len(clip_ids[i]), ())) for i in now]
        yield (pictures[now], torch.stack([clip_ids[i][k] for i, k in zip(now, pick)]),
               torch.stack([t5_ids[i][k] for i, k in zip(now, pick)]))


def is_inner(name):
    """Attention and feed-forward matrices; tables, modulations and the networks' ends go to Adam."""
    return "attn" in name or "ff" in name or "proj_mlp" in name or ("single" in name and "proj_out" in name) or \
        "DenseReluDense" in name or "SelfAttention" in name and "bias" not in name or "mlp" in name


def train(flow, data, args, extra):
    opts = optimizers(flow, args.lr, is_inner)
    ema = {k: v.clone() for k, v in flow.state_dict().items()}
    start = saved = time.time()
    done, step, seen = 0.0, 0, []
    for batch in batches(data, args.batch):
        if done >= 1:
            return
        done = (time.time() - start) / (args.minutes * 60)
        set_rate(opts, args.lr * min(1, (step + 1) / 50) * max(0.02, min(1, (1 - done) / args.decay)))
        loss = flow.loss(*batch)
        flow.zero_grad()
        loss.backward()
        for opt in opts:
            opt.step()
        step += 1
        follow(ema, flow, min(args.keep, step / (step + 20)))
        seen.append(loss.item())
        if time.time() - saved > 120 or done >= 1:
            saved = time.time()
            torch.save({"ema": ema, "raw": flow.state_dict(), **extra}, args.out + ".part")
            os.replace(args.out + ".part", args.out)
            print(f"{time.strftime('%H:%M')} {done:.0%} step {step} loss {np.mean(seen):.4f}", flush=True)
            seen = []


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--font", required=True, help="NotoColorEmoji.ttf")
    ap.add_argument("--vae", default="vae.pt")
    ap.add_argument("--model", default="model", type=Path, help="folder that gets the tokenizers")
    ap.add_argument("--out", default="flow.pt")
    ap.add_argument("--init", help="go on from this file")
    ap.add_argument("--minutes", type=float, default=40)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--decay", type=float, default=0.6, help="share of the time in which the rate falls to zero")
    ap.add_argument("--keep", type=float, default=0.995, help="of the moving average")
    ap.add_argument("--threads", type=int, default=2)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    vae = build_vae()
    vae.load_state_dict(torch.load(args.vae)["ema"])
    latents = encode_pairs(vae, render_all(args.font))
    stats = {"shift": latents.mean().item(), "scale": 1 / latents.std().item()}
    vocabularies = write_both(args.model)
    data = training_set(args.model, (latents - stats["shift"]) * stats["scale"])
    flow = Flow(*vocabularies)
    if args.init:
        flow.load_state_dict(torch.load(args.init)["raw"])
    print(f"{sum(p.numel() for p in flow.parameters())} parameters, {len(data[0])} pairs, {stats}", flush=True)
    train(flow, data, args, stats)


if __name__ == "__main__":
    main()
