"""Puts 64 pictures of a measure (measure.py --keep FOLDER) on one sheet, the last 16 of them left-out pairs."""
import sys
from pathlib import Path

from PIL import Image

from catalog import HERE, SIZE
from measure import LEFT_OUT_PROMPTS, PROMPTS

SIDE = 8


def main(folder):
    seen = PROMPTS - LEFT_OUT_PROMPTS
    numbers = [*range(48), *range(seen, seen + 16)]
    sheet = Image.new("RGB", (SIDE * SIZE, SIDE * SIZE))
    for place, number in enumerate(numbers):
        path = next(p for p in (folder / f"{number:03}/image_00000.png", folder / f"{number:03}_0.png") if p.exists())
        sheet.paste(Image.open(path), (place % SIDE * SIZE, place // SIDE * SIZE))
    sheet.save(HERE / "sheet.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
