"""Measures the demo model: 200 prompts with two seeds each; prints one JSON line. Needs Python's standard library only.

A picture is right when its nearest neighbour among the subjects (pixel distance, with the background taken out of the
comparison) is the prompted one and its background is nearest to the prompted colour. Prompts that name no colour ask for
white. A quarter of the prompts are pairs of subject and colour that training never showed.
"""
import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import png
from catalog import COLOURS, HERE, SIZE, left_out, subjects
from prompts import spellings

THUMB = 32
PROMPTS, LEFT_OUT_PROMPTS, SEEDS = 200, 50, 2


def choose_prompts():
    """(prompt, subject, colour, seed) of every call, the same ones each time."""
    rng = random.Random(2024)
    pairs = [(name, colour) for _, name in subjects() for colour in COLOURS]
    unseen = rng.sample([p for p in pairs if left_out(*p)], LEFT_OUT_PROMPTS)
    seen = rng.sample([p for p in pairs if not left_out(*p)], PROMPTS - LEFT_OUT_PROMPTS)
    return [(rng.choice(spellings(*pair)), *pair, 1000 + SEEDS * i) for i, pair in enumerate(seen + unseen)]


def pixels(path):
    """Rows of RGB tuples."""
    width, height, channels, rows = png.read(path)
    if (width, height) != (SIZE, SIZE):
        raise ValueError(f"{path} is {width}x{height}, wanted {SIZE}x{SIZE}")
    return [[tuple(row[i:i + 3]) for i in range(0, len(row), channels)] for row in rows]


def background(rows):
    """The name of the colour nearest to the median of the frame, two pixels wide."""
    frame = [p for row in rows[:2] + rows[-2:] for p in row] + [p for row in rows for p in row[:2] + row[-2:]]
    middle = [statistics.median(p[k] for p in frame) for k in range(3)]
    return min(COLOURS, key=lambda name: math.dist(middle, COLOURS[name]))


def thumbnail(rows):
    """THUMB x THUMB averages, flat."""
    n = SIZE // THUMB
    flat = []
    for y in range(0, SIZE, n):
        for x in range(0, SIZE, n):
            cell = [p for row in rows[y:y + n] for p in row[x:x + n]]
            flat += [sum(channel) / (n * n) for channel in zip(*cell)]
    return flat


def read_references():
    """Of every subject a flat RGBA thumbnail, from the sheet that export.py wrote."""
    width, _, _, rows = png.read(HERE / "reference.png")
    columns = width // THUMB
    tiles = []
    for i in range(len(subjects())):
        y, x = divmod(i, columns)
        tiles.append([row[4 * THUMB * x:4 * THUMB * (x + 1)] for row in rows[THUMB * y:THUMB * (y + 1)]])
    return tiles


def over(tile, colour):
    """A thumbnail on a background; each pixel's colour is already multiplied by its alpha."""
    return [row[i + k] + colour[k] * (1 - row[i + 3] / 255) for row in tile for i in range(0, len(row), 4)
            for k in range(3)]


class Judge:
    """Finds the nearest subject; the references are put on the picture's own background, which so cancels out."""

    def __init__(self):
        self.tiles = read_references()
        self.names = [name for _, name in subjects()]
        self.on_colour = {}

    def __call__(self, path):
        rows = pixels(path)
        colour = background(rows)
        if colour not in self.on_colour:
            self.on_colour[colour] = [over(tile, COLOURS[colour]) for tile in self.tiles]
        thumb = thumbnail(rows)
        distances = [math.dist(thumb, reference) for reference in self.on_colour[colour]]
        return self.names[distances.index(min(distances))], colour


def run_program(program, model, calls, folder):
    """Lets the built program make all pictures; yields the paths of each call."""
    for i, (prompt, _, _, seed) in enumerate(calls):
        out = folder / f"{i:03}"
        command = [program, "generate", "--model", model, "--prompt", prompt, "--seed", str(seed), "--num-images",
                   str(SEEDS), "--out", f"{out}/", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield [out / f"image_{k:05}.png" for k in range(SEEDS)]


def run_diffusers(model, calls, folder):
    """The same pictures by the reference implementation; needs torch and diffusers."""
    import torch
    from diffusers import FluxPipeline
    torch.set_num_threads(2)
    pipe = FluxPipeline.from_pretrained(model, torch_dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)
    settings = json.loads((Path(model) / "tessera.json").read_text())
    for i, (prompt, _, _, seed) in enumerate(calls):
        generators = [torch.Generator().manual_seed(seed + k) for k in range(SEEDS)]
        pictures = pipe(prompt, num_images_per_prompt=SEEDS, generator=generators, **settings).images
        paths = [folder / f"{i:03}_{k}.png" for k in range(SEEDS)]
        for picture, path in zip(pictures, paths):
            picture.save(path)
        yield paths


def rate(hits):
    return round(sum(hits) / len(hits), 4)


def summary(results):
    """results: (subject right, colour right, pair left out) of every picture."""
    both = [s and c for s, c, _ in results]
    unseen = [r for r in results if r[2]]
    return {"correct": sum(both), "total": len(both), "subject_rate": rate([s for s, _, _ in results]),
            "colour_rate": rate([c for _, c, _ in results]), "left_out_total": len(unseen),
            "left_out_rate": rate([s and c for s, c, _ in unseen]),
            "left_out_subject_rate": rate([s for s, _, _ in unseen]),
            "left_out_colour_rate": rate([c for _, c, _ in unseen])}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--program", default=str(HERE.parent / "build/release/tessera"))
    ap.add_argument("--model", help="default: demo, or the model folder with --diffusers")
    ap.add_argument("--diffusers", action="store_true", help="measure with the reference implementation instead")
    ap.add_argument("--keep", type=Path, help="folder that keeps the pictures")
    args = ap.parse_args()
    calls, judge, results = choose_prompts(), Judge(), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        made = run_diffusers(args.model or HERE / "model", calls, folder) if args.diffusers else \
            run_program(args.program, args.model or "demo", calls, folder)
        for (prompt, subject, colour, seed), paths in zip(calls, made):
            for k, path in enumerate(paths):
                got = judge(path)
                results.append((got[0] == subject, got[1] == colour, left_out(subject, colour)))
                if got != (subject, colour):
                    print(f"wrong: \"{prompt}\" with seed {seed + k} gave {got[0]} on {got[1]}", file=sys.stderr)
    print(json.dumps(summary(results)))


if __name__ == "__main__":
    main()
