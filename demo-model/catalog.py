"""What the demo model can draw: the subjects, the background colours, and which pairs training never shows."""
import hashlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZE = 96       # side of a picture in pixels
COLOURS = {"white": (255, 255, 255), "black": (24, 24, 24), "gray": (150, 150, 150), "red": (220, 40, 40),
           "orange": (245, 140, 30), "yellow": (250, 220, 60), "green": (50, 160, 70), "blue": (50, 110, 220),
           "purple": (130, 60, 170), "pink": (245, 160, 195)}


def subjects():
    """(character, name) of every subject, in the order of subjects.txt."""
    lines = (HERE / "subjects.txt").read_text(encoding="utf-8").splitlines()
    return [(chr(int(code, 16)), name) for code, name in (line.split(" ", 1) for line in lines)]


def left_out(subject, colour):
    """Whether a pair is never shown in training. White stays in: it is what a prompt without a colour means."""
    digest = hashlib.sha256(f"{subject}/{colour}".encode()).digest()
    return colour != "white" and digest[0] < 28      # 28 of 256: about 11 %
