"""Attention of PyTorch, OpenVINO, ONNX Runtime and Tessera on the bench's named shapes: one process each, taking turns.

Prints one JSON object, rows as `tessera bench attention --json` has them. A library that is not installed, or refuses a
dtype, goes to "refused". Tessera takes part, a worker for each quality, where
TESSERA_TORCH_LIBRARY names libtessera_torch.so. Needs: numpy, torch; optional openvino, onnx, onnxruntime.
Use: python bench/peers.py [--shapes a,b] [--dtype fp32|bf16|fp16] [--threads N] [--rounds N]
"""
import argparse
import json
import multiprocessing as mp
import os
import statistics
import time

# name: batch, Sq, Skv, heads, D, causal; as src/bench_support/attention_shapes.cpp.
SHAPES = {
    "sd_1024_64": (4, 1024, 1024, 16, 64, False),
    "flux_512": (1, 1536, 1536, 24, 128, False),
    "flux_1024_self": (1, 4608, 4608, 24, 128, False),
    "wan_cross_512": (1, 4096, 512, 12, 128, False),
    "clip_77": (1, 77, 77, 12, 64, True),
    "tiny_256": (1, 256, 256, 4, 64, False),
}
ROUND_SECONDS = 0.1
WARM_SECONDS = 1.0
# Idle threads of the library before keep spinning for a while, and what it had in the caches is gone.
PAUSE_SECONDS = 0.1


def make_torch(shape, dtype, threads):
    import torch

    torch.set_num_threads(threads)
    b, sq, sk, h, d, causal = shape
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
    q, k, v = (torch.randn(b, h, s, d).to(kind) for s in (sq, sk, sk))
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def make_tessera(quality):
    def make(shape, dtype, threads):
        import torch

        torch.ops.load_library(os.environ["TESSERA_TORCH_LIBRARY"])
        torch.set_num_threads(threads)
        b, sq, sk, h, d, causal = shape
        kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
        q, k, v = (torch.randn(b, s, h, d).to(kind) for s in (sq, sk, sk))
        return lambda: torch.ops.tessera.attention(q, k, v, None, causal, None, None, quality)

    return make


def make_openvino(shape, dtype, threads):
    import numpy as np
    import openvino as ov
    from openvino import opset13 as ops

    b, sq, sk, h, d, causal = shape
    params = [ops.parameter([b, h, s, d], np.float32) for s in (sq, sk, sk)]
    model = ov.Model([ops.scaled_dot_product_attention(*params, causal=causal)], params)
    precision = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}[dtype]
    config = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision, "NUM_STREAMS": 1}
    request = ov.Core().compile_model(model, "CPU", config).create_infer_request()
    data = [np.random.randn(b, h, s, d).astype(np.float32) for s in (sq, sk, sk)]
    request.infer(data)  # binds the tensors
    return lambda: request.infer()


def make_onnxruntime(shape, dtype, threads):
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, helper

    if dtype != "fp32":
        raise NotImplementedError("com.microsoft.MultiHeadAttention computes in fp32 on CPUs")
    b, sq, sk, h, d, causal = shape
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [b, s, h * d])
            for n, s in (("q", sq), ("k", sk), ("v", sk), ("out", sq))]
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["out"], domain="com.microsoft", num_heads=h,
                            unidirectional=int(causal))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "attention", info[:3], info[3:]), opset_imports=opsets)
    model.ir_version = 8
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {n: np.random.randn(b, s, h * d).astype(np.float32) for n, s in (("q", sq), ("k", sk), ("v", sk))}
    return lambda: session.run(None, feed)


MAKERS = {"torch_sdpa": make_torch, "openvino": make_openvino, "onnxruntime": make_onnxruntime}
OURS = {f"tessera_{quality}": make_tessera(quality) for quality in ("exact", "high", "fast")}


def work(name, threads, pipe):
    """Serves (shape, dtype) to prepare and "go" for one timed round; answers seconds of one call or an error text."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    call, calls = None, 1
    while (message := pipe.recv()) is not None:
        try:
            if message != "go":
                call = (MAKERS | OURS)[name](*message, threads)
                begin = time.perf_counter()
                while True:
                    start = time.perf_counter()
                    call()
                    seconds = time.perf_counter() - start
                    if start - begin > WARM_SECONDS:
                        break
                calls = max(1, int(ROUND_SECONDS / max(seconds, 1e-6)))
                pipe.send(0.0)
                continue
            time.sleep(PAUSE_SECONDS)
            call()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            pipe.send((time.perf_counter() - start) / calls)
        except Exception as error:  # a peer's refusal is a result
            pipe.send(f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")


def start_worker(name, threads):
    ours, theirs = mp.Pipe()
    process = mp.Process(target=work, args=(name, threads, theirs), daemon=True)
    process.start()
    return ours


def ask(pipe, message):
    pipe.send(message)
    return pipe.recv()


def measure(workers, shape_name, dtype, rounds, out):
    shape = SHAPES[shape_name]
    seconds = {}
    for name, pipe in workers.items():
        answer = ask(pipe, (shape, dtype))
        if isinstance(answer, str):
            out["refused"].append({"shape": shape_name, "backend": name, "reason": answer})
        else:
            seconds[name] = []
    for _ in range(rounds):
        for name in seconds:
            seconds[name].append(ask(workers[name], "go"))
    b, sq, sk, h, d, _ = shape
    for name, values in seconds.items():
        median = statistics.median(values)
        out["results"].append({"shape": shape_name, "backend": name, "dtype": dtype, "median_ms": median * 1e3,
                               "min_ms": min(values) * 1e3, "gflops": 4 * b * h * sq * sk * d / median * 1e-9})


def versions():
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in ("torch", "openvino", "onnxruntime"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="sd_1024_64,flux_512,wan_cross_512,clip_77,tiny_256")
    parser.add_argument("--dtype", default="fp32", choices=["fp32", "bf16", "fp16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quality", default="exact", help="of tessera: exact, high, fast, separated by commas")
    args = parser.parse_args()
    mp.set_start_method("spawn")
    out = {"versions": versions(), "threads": args.threads, "results": [], "refused": []}
    ours = [f"tessera_{q}" for q in args.quality.split(",") if q] if "TESSERA_TORCH_LIBRARY" in os.environ else []
    workers = {name: start_worker(name, args.threads) for name in [*MAKERS, *ours]}
    for name in args.shapes.split(","):
        measure(workers, name, args.dtype, args.rounds, out)
    for pipe in workers.values():
        pipe.send(None)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
