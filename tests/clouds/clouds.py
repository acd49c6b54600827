# SPDX-License-Identifier: MIT
"""Clouds through elements, and PCD files as numpy reads them."""

import os

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

Gst.init(None)

# Types of a field, in caps and in numpy, little-endian.
TYPES = {"I8": "<i1", "U8": "<u1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4",
         "F32": "<f4", "F64": "<f8"}
FORMATS = {
    "XYZ_F32LE": ("x:F32:0,y:F32:4,z:F32:8", 12),
    "XYZI_F32LE": ("x:F32:0,y:F32:4,z:F32:8,intensity:F32:12", 16),
    "XYZ_F64LE": ("x:F64:0,y:F64:8,z:F64:16", 24),
    "XYZIRT": ("x:F32:0,y:F32:4,z:F32:8,intensity:F32:12,ring:U16:16,time:F32:20", 24),
}


def data(*names):
    """A path in NDT_TEST_DATA, or None where there is none (with CI=true that is an error)."""
    folder = os.environ.get("NDT_TEST_DATA") or os.path.join(
        os.environ["NDT_TEST_ROOT"], "..", "shared", "data")
    path = os.path.join(folder, *names)
    if os.path.exists(path):
        return path
    if os.environ.get("CI") == "true":
        raise AssertionError(f"{path} is missing: set NDT_TEST_DATA")
    return None


def dtype(fields, step, big_endian=False):
    """numpy's type of points with fields as caps have them."""
    names, formats, offsets = [], [], []
    for field in fields.split(","):
        name, kind, offset, *count = field.split(":")
        kind = TYPES[kind].replace("<", ">") if big_endian else TYPES[kind]
        names.append(name)
        formats.append((kind, (int(count[0]),)) if count else kind)
        offsets.append(int(offset))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": step})


def custom(fields, step, **more):
    """Caps of such points."""
    return (f'pointcloud/x-raw,format=CUSTOM,fields="{fields}",point-step={step}'
            + "".join(f",{name.replace('_', '-')}={value}" for name, value in more.items()))


def edgefirst(fields, step, n, height=1, big_endian=False):
    return (f'application/x-pointcloud2,width={n},height={height},point-step={step},'
            f'fields="{fields}",is-bigendian={"true" if big_endian else "false"},is-dense=true')


class Stream:
    """What left a pipeline: samples, and the texts of warnings."""

    def __init__(self):
        self.samples, self.warnings, self.error, self.stats = [], [], None, None

    def bytes(self, index=0):
        buffer = self.samples[index].get_buffer()
        return buffer.extract_dup(0, buffer.get_size())

    def caps(self, index=0):
        return self.samples[index].get_caps().get_structure(0)


def push(elements, clouds, out=None, stats=None, period=Gst.SECOND // 10):
    """Sends clouds, pairs of caps and bytes, through @elements (a launch line's text) to caps @out."""
    stream = Stream()
    pipeline = Gst.parse_launch(f"appsrc name=src format=time ! {elements} ! capsfilter name=out ! "
                                "appsink name=sink sync=false")
    if out:
        pipeline.get_by_name("out").set_property("caps", Gst.Caps.from_string(out))
    src, sink = pipeline.get_by_name("src"), pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    for index, (caps, content) in enumerate(clouds):
        src.set_property("caps", Gst.Caps.from_string(caps))
        buffer = Gst.Buffer.new_wrapped(content) if content else Gst.Buffer.new()
        buffer.pts, buffer.duration = index * period, period
        if src.emit("push-buffer", buffer) != Gst.FlowReturn.OK:
            break
    src.emit("end-of-stream")
    while sample := sink.emit("pull-sample"):
        stream.samples.append(sample)
    bus = pipeline.get_bus()
    while message := bus.pop_filtered(Gst.MessageType.ERROR | Gst.MessageType.WARNING):
        if message.type == Gst.MessageType.ERROR:
            stream.error = stream.error or message.parse_error()[0].message
        else:
            stream.warnings.append(message.parse_warning()[0].message)
    if stats:
        stream.stats = pipeline.get_by_name(stats).get_property("stats")
    pipeline.set_state(Gst.State.NULL)
    return stream


def unpack_lzf(packed, size):
    """LZF as Marc Lehmann's liblzf has it."""
    out, at = bytearray(), 0
    while at < len(packed):
        control = packed[at]
        at += 1
        if control < 32:
            out += packed[at:at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += packed[at]
            at += 1
        start = len(out) - ((control & 31) << 8) - packed[at] - 1
        at += 1
        for k in range(length + 2):
            out.append(out[start + k])
    assert len(out) == size
    return bytes(out)


def read_pcd(path):
    """(points, dictionary of the header) by numpy alone; names that are there twice get a number."""
    with open(path, "rb") as file:
        content = file.read()
    header, end = {}, 0
    while "DATA" not in header:
        line_end = content.index(b"\n", end)
        words = content[end:line_end].decode("latin-1").split()
        end = line_end + 1
        if words and not words[0].startswith("#"):
            header[words[0]] = words[1:]
    names = header["FIELDS"]
    counts = [int(c) for c in header.get("COUNT", ["1"] * len(names))]
    kinds = ["<" + t.lower() + s for t, s in zip(header["TYPE"], header["SIZE"])]
    kind = np.dtype([(name, k) if c == 1 else (name, k, (c,))
                     for name, k, c in zip(names, kinds, counts)])
    n = int(header["WIDTH"][0]) * int(header["HEIGHT"][0])
    encoding = header["DATA"][0]
    if encoding == "binary":
        points = np.frombuffer(content, kind, n, end)
    elif encoding == "binary_compressed":
        packed, size = np.frombuffer(content, "<u4", 2, end)
        columns = unpack_lzf(content[end + 8:end + 8 + int(packed)], int(size))
        points, at = np.zeros(n, kind), 0
        for name in names:
            part = kind[name].itemsize * n
            points[name] = np.frombuffer(columns[at:at + part], kind[name].base).reshape(
                points[name].shape)
            at += part
    else:
        lines = [line.split() for line in content[end:].decode("latin-1").splitlines()
                 if line.strip() and not line.startswith("#")]
        points = np.zeros(n, kind)
        for row, words in enumerate(lines[:n]):
            at = 0
            for name, k, c in zip(names, kinds, counts):
                values = np.array(words[at:at + c], float if "f" in k else np.int64)
                points[name][row] = (values.astype(k) if c > 1 else values.astype(k)[0])
                at += c
    return points, header
