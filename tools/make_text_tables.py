#!/usr/bin/env python3
"""Writes src/text/tables/*.inc: HTML entity names, single-byte encodings, and the character categories of ftfy.

Sources: Python's html.entities (the HTML5 list of the WHATWG), Python's codecs, and the category tables of ftfy 6.3.1
(Robyn Speer, Apache-2.0). Run with a Python that has ftfy 6.3.1; the output is the same every time.
"""
import codecs
import html.entities
import pathlib
import re
import textwrap

import ftfy.bad_codecs  # noqa: F401  (registers the sloppy codecs)
from ftfy import badness, chardata

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/text/tables"
CATEGORIES = ["common", "c1", "bad", "law", "currency", "start_punctuation", "end_punctuation", "numeric", "kaomoji",
              "upper_accented", "lower_accented", "upper_common", "lower_common", "box"]
CLUES = ["utf8_first_of_2", "utf8_first_of_3", "utf8_first_of_4", "utf8_continuation", "utf8_continuation_strict"]


def write(name, about, lines):
    head = f"// {about}\n// Made by tools/make_text_tables.py; do not edit.\n// clang-format off\n"
    (OUT / name).write_text(head + "\n".join(lines) + "\n// clang-format on\n", encoding="utf-8")


def html_entities():
    entries = [name + "=" + ".".join(f"{ord(c):x}" for c in text) for name, text in sorted(html.entities.html5.items())]
    lines = textwrap.wrap(" ".join(entries), 114, break_long_words=False, break_on_hyphens=False)
    write("html_entities.inc", "Names of HTML5 character references and their code points, for html_unescape.cpp.",
          [f'"{line} "' for line in lines])


def encodings():
    lines = []
    for name in chardata.CHARMAP_ENCODINGS:
        points = [ord(bytes([b]).decode(name)) for b in range(0x80, 0x100)]
        sloppy = "true" if name.startswith("sloppy") else "false"
        body = textwrap.wrap(", ".join(f"0x{p:x}" for p in points), 116)
        lines += [f'{{"{name}", {sloppy}, {{', *("  " + line for line in body), "}},"]
    strict = [b for b in range(0x80, 0x100) if not bytes([b]).decode("windows-1252", "ignore")]
    assert strict == [0x81, 0x8D, 0x8F, 0x90, 0x9D]
    write("encodings.inc", "What bytes 0x80 to 0xff of single-byte encodings mean, for encodings.cpp.", lines)


def members(expression):
    """All characters of a regular expression's character class."""
    pattern = re.compile("[" + expression + "]")
    return {c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and pattern.match(chr(c))}


def category_ranges():
    masks = {}
    for bit, name in enumerate(CATEGORIES):
        for c in members(badness.MOJIBAKE_CATEGORIES[name]):
            masks[c] = masks.get(c, 0) | 1 << bit
    for bit, name in enumerate(CLUES, len(CATEGORIES)):
        for c in members(chardata.UTF8_CLUES[name]):
            masks[c] = masks.get(c, 0) | 1 << bit
    assert set(badness.MOJIBAKE_CATEGORIES) == set(CATEGORIES) and set(chardata.UTF8_CLUES) == set(CLUES)
    first = [members(chardata.UTF8_CLUES[name]) for name in CLUES[:3]]
    assert not (first[0] & first[1] or first[0] & first[2] or first[1] & first[2])
    ranges = []
    for c in sorted(masks):
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == masks[c]:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, masks[c]])
    text = ", ".join(f"{{0x{a:x}, 0x{b:x}, 0x{m:x}}}" for a, b, m in ranges)
    about = ("Characters and their categories in mis-decoded text, bit masks as in mojibake.cpp. "
             "Source: ftfy 6.3.1, Apache-2.0.")
    write("mojibake.inc", about, [line + "" for line in textwrap.wrap(text, 118)])


codecs.lookup("sloppy-windows-1252")
OUT.mkdir(parents=True, exist_ok=True)
html_entities()
encodings()
category_ranges()
