#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a LAS file, which ndt-map and ndtlocalize read, of point files that they do not.

usage: convert_cloud.py IN OUT.las

IN is a LAZ or LAS file (laspy with laszip or lazrs), or an E57 file (pye57): install what is asked
for with "pip install laspy[laszip]" or "pip install laspy pye57". Points keep their coordinates as far as the
steps of LAS go: those of a LAZ file are kept as they are, those of an E57 file are stored in steps of
0.1 mm. All scans of an E57 file are joined, each moved by its pose. Intensities are kept; those of
an E57 file, which may be anything, are stretched to 0 … 65535.
"""

import os
import sys

STEP = 1e-4  # metres; 2³¹ of them are 214 km


def fail(text):
    sys.exit(f"convert_cloud.py: {text}")


def load(name, package):
    try:
        return __import__(name)
    except ImportError:
        fail(f"needs {name}: pip install {package}")


def from_las(source, target):
    laspy = load("laspy", "laspy[laszip]")
    # laszip first: lazrs does not read what LASzip 1.2 wrote.
    backends = [backend for backend in (laspy.LazBackend.Laszip, laspy.LazBackend.Lazrs)
                if backend.is_available()]
    with laspy.open(source, laz_backend=backends or None) as reader:
        header = laspy.LasHeader(version=reader.header.version,
                                 point_format=reader.header.point_format)
        header.scales, header.offsets = reader.header.scales, reader.header.offsets
        n = 0
        with laspy.open(target, mode="w", header=header, do_compress=False) as writer:
            for points in reader.chunk_iterator(1 << 20):
                writer.write_points(points)
                n += len(points)
        if n != reader.header.point_count:
            fail(f"{source} has {n} points where its header says {reader.header.point_count}")
    return n


def from_e57(source, target):
    laspy = load("laspy", "laspy pye57")
    pye57 = load("pye57", "laspy pye57")
    import numpy as np
    file = pye57.E57(source)
    clouds = [file.read_scan(i, intensity=True, ignore_missing_fields=True)
              for i in range(file.scan_count)]
    if not clouds:
        fail(f"{source} has no scans")
    xyz = np.vstack([np.column_stack([cloud["cartesian" + axis] for axis in "XYZ"])
                     for cloud in clouds])
    header = laspy.LasHeader(version="1.2", point_format=0)
    header.scales = [STEP] * 3
    header.offsets = np.floor(xyz.min(axis=0)) if len(xyz) else [0, 0, 0]
    if len(xyz) and (xyz.max(axis=0) - header.offsets).max() / STEP > 2 ** 31 - 1:
        fail(f"{source} has points more than {2 ** 31 * STEP / 1000:.0f} km apart")
    las = laspy.LasData(header)
    las.x, las.y, las.z = xyz.T
    if all("intensity" in cloud for cloud in clouds):
        intensity = np.concatenate([cloud["intensity"] for cloud in clouds])
        low, high = (intensity.min(), intensity.max()) if len(intensity) else (0, 0)
        las.intensity = np.round((intensity - low) * (65535 / (high - low) if high > low else 0))
    las.write(target)
    return len(xyz)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    source, target = sys.argv[1:]
    if not target.lower().endswith(".las"):
        fail("OUT has to end in .las")
    try:
        with open(source, "rb") as file:
            start = file.read(8)
    except OSError as error:
        fail(error)
    convert = {b"LASF": from_las, b"ASTM": from_e57}.get(start[:4])
    if not convert:
        fail(f"{source} is neither LAS, LAZ nor E57")
    part = target + ".part.las"
    try:
        n = convert(source, part)
    except SystemExit:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what libraries say of a damaged file; lazrs panics beside Exception
        fail(f"{source}: {error}")
    else:
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)
    print(f"{target}: {n} points")


main()
