"""Reads 8-bit RGB and RGBA PNG files with the standard library alone, so that the measure needs no packages."""
import struct
import zlib


def read(path):
    """(width, height, channels, rows as bytearrays) of a PNG without interlacing."""
    data = path.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path} is not a PNG file")
    header, packed, at = None, b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
    width, height, depth, colour, _, _, interlaced = header
    if depth != 8 or colour not in (2, 6) or interlaced:
        raise ValueError(f"{path} has depth {depth}, colour type {colour}, interlacing {interlaced}; wanted 8-bit RGB(A)")
    channels = 3 if colour == 2 else 4
    return width, height, channels, unfilter(zlib.decompress(packed), width * channels, height, channels)


def unfilter(raw, stride, height, step):
    rows, above = [], bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        row = bytearray(raw[start + 1:start + 1 + stride])
        restore(raw[start], row, above, step)
        rows.append(row)
        above = row
    return rows


def restore(kind, row, above, step):
    """Undoes one row's filter in place (PNG specification, section 9)."""
    for i in range(len(row) if kind else 0):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
        row[i] = (row[i] + guess) & 255


def paeth(left, up, corner):
    base = left + up - corner
    return min((abs(base - left), 0, left), (abs(base - up), 1, up), (abs(base - corner), 2, corner))[2]
