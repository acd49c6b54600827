# SPDX-License-Identifier: MIT
"""Pictures as arrays."""

import struct
import zlib

import numpy as np


def pixels(png):
    """Red, green, blue of an 8-bit PNG: an array of rows of pixels."""
    data, at, parts = png, 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, _, color = struct.unpack_from(">IIBB", data, at + 8)
        elif kind == b"IDAT":
            parts += data[at + 8:at + 8 + size]
        at += size + 12
    channels = {2: 3, 6: 4}[color]
    raw = np.frombuffer(zlib.decompress(parts), np.uint8).reshape(height, 1 + channels * width)
    rows, before = np.zeros((height, channels * width), np.uint8), np.zeros(channels * width, np.uint8)
    for y in range(height):
        kind, line = raw[y, 0], raw[y, 1:].astype(np.int64)
        if kind == 1:
            line = np.cumsum(line.reshape(width, channels), axis=0).reshape(-1)
        elif kind == 2:
            line = line + before
        elif kind in (3, 4):
            line = unfilter(kind, line, before.astype(np.int64), channels)
        before = (line % 256).astype(np.uint8)
        rows[y] = before
    return rows.reshape(height, width, channels)[:, :, :3].astype(int)


def unfilter(kind, line, above, channels):
    out = [0] * len(line)
    for x, value in enumerate(line):
        a = out[x - channels] if x >= channels else 0
        b, c = above[x], above[x - channels] if x >= channels else 0
        if kind == 3:
            guess = (a + b) // 2
        else:
            p = a + b - c
            guess = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        out[x] = (value + guess) % 256
    return np.array(out)


def write_png(path, picture):
    """Red, green, blue of rows of pixels."""
    height, width = picture.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = picture.reshape(height, 3 * width)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))
