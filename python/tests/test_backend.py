"""The operators against PyTorch's own function, and a diffusers pipeline with and without them."""
import os
import pathlib

import pytest
import torch

import tessera_diffusers

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ.get("TESSERA_TORCH_LIBRARY", str(ROOT / "build" / "release" / "libtessera_torch.so"))
MODEL = ROOT / "demo-model" / "model"


@pytest.fixture(scope="module", autouse=True)
def loaded():
    tessera_diffusers.register(LIBRARY)


def reference(q, k, v, **kwargs):
    q, k, v = (t.transpose(1, 2).double() for t in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1], **kwargs)
    return out.transpose(1, 2)


def problem(dtype=torch.float32, heads_kv=4):
    torch.manual_seed(0)
    return (torch.randn(2, 70, 4, 64, dtype=dtype), torch.randn(2, 130, heads_kv, 64, dtype=dtype),
            torch.randn(2, 130, heads_kv, 64, dtype=dtype))


@pytest.mark.parametrize("dtype,bound", [(torch.float32, 1e-5), (torch.float16, 2e-3), (torch.bfloat16, 1.6e-2)])
@pytest.mark.parametrize("heads_kv", [4, 2])
def test_equals_pytorch(dtype, bound, heads_kv):
    q, k, v = problem(dtype, heads_kv)
    out = torch.ops.tessera.attention(q, k, v)
    assert out.dtype == dtype
    assert (out.double() - reference(q, k, v)).abs().max() <= bound


def test_masks_and_lse():
    q, k, v = problem()
    mask = torch.rand(2, 1, 70, 130) > 0.3
    out, lse = torch.ops.tessera.attention_with_lse(q, k, v, mask)
    assert (out.double() - reference(q, k, v, attn_mask=mask)).abs().max() <= 1e-5
    logits = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double()) / 8
    want = logits.masked_fill(~mask, -torch.inf).logsumexp(-1)
    assert (lse.double() - want).abs().max() <= 1e-5


def test_packed_sequences_equal_single_ones():
    q, k, v = (t.flatten(0, 1) for t in problem())
    out = torch.ops.tessera.attention_varlen(q, k, v, [0, 50, 140], [0, 100, 260])
    second = torch.ops.tessera.attention(q[None, 50:], k[None, 100:], v[None, 100:])[0]
    assert torch.equal(out[50:], second)


def test_wrong_use_is_one_clear_error():
    q, k, v = problem()
    with pytest.raises(RuntimeError, match="tessera"):
        torch.ops.tessera.attention(q, k[:, :, :3], v)
    with pytest.raises(ValueError, match="quality"):
        torch.ops.tessera.attention(q, k, v, quality="best")


def test_compile_traces_through():
    q, k, v = problem()
    compiled = torch.compile(lambda a, b, c: torch.ops.tessera.attention(a * 2, b, c) + 1, fullgraph=True,
                             backend="eager")
    assert torch.allclose(compiled(q, k, v), torch.ops.tessera.attention(q * 2, k, v) + 1)


def test_a_flux_pipeline_makes_the_same_picture():
    diffusers = pytest.importorskip("diffusers")
    pipe = diffusers.FluxPipeline.from_pretrained(MODEL, torch_dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)

    def picture():
        return pipe("red apple", height=96, width=96, num_inference_steps=4, max_sequence_length=16,
                    generator=torch.Generator().manual_seed(1), output_type="pt").images

    plain = picture()
    pipe.transformer.set_attention_backend("tessera")
    assert (picture() - plain).abs().max() <= 1 / 255
