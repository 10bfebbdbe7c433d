"""Tessera's CPU attention as an attention backend of diffusers.

    import tessera_diffusers
    tessera_diffusers.register("build/release/libtessera_torch.so")
    pipe.transformer.set_attention_backend("tessera")
"""
import os

import torch
from diffusers.models.attention_dispatch import AttentionBackendName, _AttentionBackendRegistry

NAME = "tessera"


def _attention(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """[B, S, H, D] in and out, as diffusers dispatches it; GQA needs no flag here."""
    if attn_mask is not None and attn_mask.dim() == 2:
        attn_mask = attn_mask[:, None, None, :]  # diffusers' key padding [B, Skv]
    return torch.ops.tessera.attention(query, key, value, attn_mask, is_causal, scale, None, _attention.quality)


def register(library: str | None = None, quality: str = "exact") -> None:
    """Loads libtessera_torch.so (or $TESSERA_TORCH_LIBRARY) and makes "tessera" a backend name. Safe to repeat."""
    _attention.quality = quality
    if NAME in AttentionBackendName._value2member_map_:
        return
    torch.ops.load_library(library or os.environ["TESSERA_TORCH_LIBRARY"])
    # diffusers' names are a closed enumeration; a new member is made the way the enum module makes them.
    member = str.__new__(AttentionBackendName, NAME)
    member._name_, member._value_ = NAME.upper(), NAME
    AttentionBackendName._member_map_[member._name_] = member
    AttentionBackendName._value2member_map_[NAME] = member
    AttentionBackendName._member_names_.append(member._name_)
    _AttentionBackendRegistry.register(member)(_attention)
