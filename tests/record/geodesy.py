# SPDX-License-Identifier: MIT
"""Positions on Earth by the formulas of the ellipsoid, and NavSatFix messages, for tests."""

import struct

import numpy as np

A, F = 6378137.0, 1 / 298.257223563  # WGS84
E2 = F * (2 - F)


def ecef(latitude, longitude, height):
    b, l = np.radians(latitude), np.radians(longitude)
    n = A / np.sqrt(1 - E2 * np.sin(b) ** 2)
    return np.array([(n + height) * np.cos(b) * np.cos(l), (n + height) * np.cos(b) * np.sin(l),
                     (n * (1 - E2) + height) * np.sin(b)])


def from_enu(enu, origin):
    """Latitude, longitude (degrees) and height of a point by east, north and up of @origin."""
    b, l = np.radians(origin[:2])
    axes = np.array([[-np.sin(l), np.cos(l), 0],
                     [-np.sin(b) * np.cos(l), -np.sin(b) * np.sin(l), np.cos(b)],
                     [np.cos(b) * np.cos(l), np.cos(b) * np.sin(l), np.sin(b)]])
    x, y, z = ecef(*origin) + np.asarray(enu) @ axes
    p = np.hypot(x, y)
    latitude = np.arctan2(z, p * (1 - E2))
    for _ in range(10):
        n = A / np.sqrt(1 - E2 * np.sin(latitude) ** 2)
        height = p / np.cos(latitude) - n
        latitude = np.arctan2(z, p * (1 - E2 * n / (n + height)))
    return np.degrees(latitude), np.degrees(np.arctan2(y, x)), height


def fix_message(stamp, place, variances, status=0, frame="antenna"):
    """The CDR of a NavSatFix: @stamp in ns, @place latitude, longitude, height."""
    body = struct.pack("<iI", stamp // 10**9, stamp % 10**9)
    body += struct.pack("<I", len(frame) + 1) + frame.encode() + b"\0"
    body += struct.pack("<b", status)
    body += b"\0" * (-len(body) % 2) + struct.pack("<H", 1)
    body += b"\0" * (-len(body) % 8) + struct.pack("<3d", *place)
    body += struct.pack("<9d", *np.diag(variances).reshape(-1)) + struct.pack("<B", 2)
    return b"\x00\x01\x00\x00" + body
