"""Renders the training pictures: emoji of the Noto Color Emoji font on plain backgrounds."""
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from catalog import SIZE, subjects

GLYPH = 86      # side of the square that an emoji fills


def render(character, font):
    """One emoji as RGBA, cropped to its ink and centred."""
    canvas = Image.new("RGBA", (136, 128))
    ImageDraw.Draw(canvas).text((0, 0), character, font=font, embedded_color=True, anchor="lt")
    ink = canvas.crop(canvas.getbbox())
    scale = GLYPH / max(ink.size)
    ink = ink.resize([max(1, round(s * scale)) for s in ink.size], Image.Resampling.LANCZOS)
    out = Image.new("RGBA", (SIZE, SIZE))
    out.paste(ink, [(SIZE - s) // 2 for s in ink.size])
    return np.asarray(out)


def render_all(font_path):
    font = ImageFont.truetype(font_path, 109)     # the only size that this bitmap font has
    return np.stack([render(c, font) for c, _ in subjects()])


def compose(rgba, colour):
    """RGBA pictures [..., H, W, 4] over one background colour, as float RGB in [-1, 1]."""
    alpha = rgba[..., 3:].astype(np.float32) / 255
    return (rgba[..., :3] * alpha + np.asarray(colour, np.float32) * (1 - alpha)) / 127.5 - 1
