#!/usr/bin/env python3
"""Writes the small module goldens beside it: python make_modules.py. Needs torch, diffusers, transformers.

Made with diffusers 0.42.1, transformers 5.24.0 and torch 2.13.0 on the CPU in float32. Each file holds the weights
(prefix "weights."), the inputs and what the reference computes from them.
"""
import pathlib

import torch
from diffusers import AutoencoderKL, FluxPipeline, WanImageToVideoPipeline, WanTransformer3DModel
from PIL import Image
from safetensors.torch import save_file
from transformers import T5Config, T5EncoderModel, UMT5Config, UMT5EncoderModel

HERE = pathlib.Path(__file__).resolve().parent
FLUX = HERE.parent / "pipelines" / "flux1-dev"
WAN = HERE.parent / "pipelines" / "wan2.2-ti2v-i2v-small"
torch.set_grad_enabled(False)


def save(name, tensors):
    save_file({k: v.contiguous() for k, v in tensors.items()}, HERE / f"{name}.safetensors")


def random_weights(model, seed):
    g = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        scale = 1.0 if p.dim() < 2 else p.shape[1] ** -0.5
        p.data.copy_(torch.randn(p.shape, generator=g) * scale)
    return model.eval()


def t5(name, config_class, model_class, proj):
    config = config_class(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, feed_forward_proj=proj,
                          relative_attention_num_buckets=32, relative_attention_max_distance=128)
    model = random_weights(model_class(config), 5)
    g = torch.Generator().manual_seed(6)
    ids = torch.randint(0, 50, (2, 150), generator=g)  # longer than max_distance
    mask = torch.ones_like(ids)
    mask[0, 40:] = 0
    weights = {"weights." + k: v.clone() for k, v in model.state_dict().items() if "embed_tokens" not in k}
    save(name, {**weights, "ids": ids, "out": model(ids)[0], "masked_out": model(ids, attention_mask=mask)[0]})


def vae_tiling():
    vae = AutoencoderKL.from_pretrained(FLUX / "model" / "vae")
    z = torch.randn((2, 16, 12, 9), generator=torch.Generator().manual_seed(7))
    tensors = {"z": z, "whole": vae.decode(z)[0]}
    vae.tile_sample_min_size, vae.tile_latent_min_size = 64, 8
    vae.enable_tiling()
    vae.enable_slicing()
    tensors["tiled"] = vae.decode(z)[0]
    save("vae_tiling", tensors)


def true_cfg():
    """The tokenizer_2 folder of the golden model is stored compressed; point FLUX to the original to make this."""
    pipe = FluxPipeline.from_pretrained(FLUX / "model")
    steps = []
    keep = lambda pipe, i, t, kw: steps.append(kw["latents"].clone()) or kw
    image = pipe("a quiet harbour at night", prompt_2="wooden boats, blue water", negative_prompt="blurry, low quality",
                 true_cfg_scale=3.0, height=64, width=48, num_inference_steps=3, guidance_scale=2.0,
                 max_sequence_length=32, generator=torch.Generator().manual_seed(11), output_type="pt",
                 callback_on_step_end=keep).images
    save("true_cfg", {**{f"step{i}/latents": x for i, x in enumerate(steps)}, "image": image})


def wan_expert(source, mask, image):
    """`source` with patches that also see 4 channels of mask and the given frame."""
    expert = WanTransformer3DModel.from_config({**source.config, "in_channels": 2 * source.config.in_channels + 4})
    weights = dict(source.state_dict())
    w = weights["patch_embedding.weight"]
    weights["patch_embedding.weight"] = torch.cat([w, w[:, :4] * mask, w * image], 1)
    expert.load_state_dict(weights)
    return expert.eval()


def wan_a14b_i2v():
    """Two experts and a given frame beside the latents; tests/models/wan_a14b_i2v_test.cpp makes the same model."""
    parts = WanImageToVideoPipeline.from_pretrained(WAN / "model").components
    source = parts["transformer"]
    parts.update(transformer=wan_expert(source, 0.5, -1.0), transformer_2=wan_expert(source, -0.5, 0.5))
    pipe = WanImageToVideoPipeline(**parts, boundary_ratio=0.9, expand_timesteps=False)
    frame = (torch.arange(64 * 32 * 3) * 7 % 256).view(64, 32, 3).to(torch.uint8)
    latents = pipe(Image.fromarray(frame.numpy()), "a robot beside a bottle", negative_prompt="dark, noisy photo",
                   height=64, width=32, num_frames=5, num_inference_steps=4, guidance_scale=3.5, guidance_scale_2=2.5,
                   max_sequence_length=16, generator=torch.Generator().manual_seed(41), output_type="latent").frames
    save("wan_a14b_i2v", {"latents": latents})


t5("t5_relu", T5Config, T5EncoderModel, "relu")
t5("umt5_gated", UMT5Config, UMT5EncoderModel, "gated-gelu")
vae_tiling()
true_cfg()
wan_a14b_i2v()
