"""Writes the trained parts as a FLUX.1 pipeline folder in bfloat16, and the reference thumbnails of the measure."""
import argparse
import json
from pathlib import Path

import numpy as np
import torch
from diffusers import FlowMatchEulerDiscreteScheduler
from PIL import Image
from safetensors.torch import save_file

from catalog import HERE, SIZE
from data import render_all
from measure import THUMB
from train_flow import TOKENS, Flow, clip_config, t5_config
from train_vae import build_vae
from vocabulary import write_both, write_json

DEFAULTS = {"height": SIZE, "width": SIZE, "num_inference_steps": 10, "guidance_scale": 0.0,
            "max_sequence_length": TOKENS}
INDEX = {"scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"], "text_encoder": ["transformers", "CLIPTextModel"],
         "text_encoder_2": ["transformers", "T5EncoderModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
         "tokenizer_2": ["transformers", "T5TokenizerFast"], "transformer": ["diffusers", "FluxTransformer2DModel"],
         "vae": ["diffusers", "AutoencoderKL"]}


def save_text_encoder(folder, module, config, prefix):
    """In the spelling of the published checkpoints, which is older than the installed library's."""
    folder.mkdir(parents=True, exist_ok=True)
    # T5 keeps one table under two names; the published files hold it once.
    tensors = {prefix + k: v.to(torch.bfloat16).contiguous() for k, v in module.state_dict().items()
               if k != "encoder.embed_tokens.weight"}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", config | {"torch_dtype": "bfloat16", "transformers_version": "4.43.3"})


def save_diffusers_model(folder, module):
    module.to(torch.bfloat16).save_pretrained(folder)


def load_flow(path, model):
    trained = torch.load(path)
    vocabularies = write_both(model)
    flow = Flow(*vocabularies)
    flow.load_state_dict(trained["ema"])
    return flow, vocabularies, trained


def write_model(args):
    flow, (clip_vocab, t5_vocab), trained = load_flow(args.flow, args.model)
    save_text_encoder(args.model / "text_encoder", flow.clip, clip_config(clip_vocab), "text_model.")
    save_text_encoder(args.model / "text_encoder_2", flow.t5, t5_config(t5_vocab), "")
    save_diffusers_model(args.model / "transformer", flow.transformer)
    vae = build_vae()
    vae.load_state_dict(torch.load(args.vae)["ema"])
    vae.register_to_config(scaling_factor=trained["scale"], shift_factor=trained["shift"])
    save_diffusers_model(args.model / "vae", vae)
    FlowMatchEulerDiscreteScheduler(shift=1.0).save_pretrained(args.model / "scheduler")
    version = json.loads((args.model / "vae/config.json").read_text())["_diffusers_version"]
    write_json(args.model / "model_index.json", {
        "_class_name": "FluxPipeline", "_diffusers_version": version, "feature_extractor": [None, None],
        "image_encoder": [None, None], **INDEX})
    write_json(args.model / "tessera.json", DEFAULTS)


def write_references(rgba, columns=16):
    """One sheet of small pictures, colours multiplied by alpha: averages of such pixels can be put on any colour."""
    n = SIZE // THUMB
    alpha = rgba[..., 3:] / 255.0
    small = np.concatenate([rgba[..., :3] * alpha, rgba[..., 3:]], -1)
    small = small.reshape(-1, THUMB, n, THUMB, n, 4).mean((2, 4)).round().astype(np.uint8)
    rows = -(-len(small) // columns)
    sheet = np.zeros((rows * columns, THUMB, THUMB, 4), np.uint8)
    sheet[:len(small)] = small
    sheet = sheet.reshape(rows, columns, THUMB, THUMB, 4).swapaxes(1, 2).reshape(rows * THUMB, columns * THUMB, 4)
    Image.fromarray(sheet).save(HERE / "reference.png", optimize=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--font", required=True, help="NotoColorEmoji.ttf")
    ap.add_argument("--vae", default="decoder.pt")
    ap.add_argument("--flow", default="flow.pt")
    ap.add_argument("--model", default=HERE / "model", type=Path)
    args = ap.parse_args()
    write_model(args)
    write_references(render_all(args.font))


if __name__ == "__main__":
    main()
