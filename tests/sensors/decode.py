# SPDX-License-Identifier: MIT
"""Runs captures through the decoders, for the tests of this suite."""

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

Gst.init(None)

POINT = np.dtype({
    "names": ["x", "y", "z", "intensity", "ring", "return", "time"],
    "formats": ["<f4", "<f4", "<f4", "<f4", "<u2", "u1", "<f4"],
    "offsets": [0, 4, 8, 12, 16, 18, 20],
    "itemsize": 24,
})


class Scan:
    """A buffer: points, and its stamps in nanoseconds."""

    def __init__(self, buffer):
        ok, mapped = buffer.map(Gst.MapFlags.READ)
        assert ok
        self.points = np.frombuffer(bytes(mapped.data), POINT)
        buffer.unmap(mapped)
        self.pts, self.duration = buffer.pts, buffer.duration
        meta = buffer.get_reference_timestamp_meta(None)
        self.sensor = meta.timestamp if meta else None

    @property
    def xyz(self):
        """Finite points, n × 3, in double."""
        xyz = np.stack([self.points[c] for c in "xyz"], axis=1).astype(float)
        return xyz[np.isfinite(xyz).all(axis=1)]


def decode(capture, decoder, source=""):
    """Scans of a capture, statistics of the decoder, and the texts of warnings."""
    pipeline = Gst.parse_launch(
        f'lidarpcapsrc location="{capture}" {source} ! {decoder} name=decoder ! '
        "fakesink name=sink signal-handoffs=true sync=false")
    scans, warnings = [], []
    pipeline.get_by_name("sink").connect("handoff", lambda _, b, __: scans.append(Scan(b)))
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    try:
        while True:
            message = bus.timed_pop_filtered(
                300 * Gst.SECOND,
                Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING)
            assert message is not None, "no end of the stream within five minutes"
            if message.type == Gst.MessageType.WARNING:
                warnings.append(message.parse_warning()[0].message)
                continue
            assert message.type == Gst.MessageType.EOS, message.parse_error()[0].message
            stats = pipeline.get_by_name("decoder").get_property("stats")
            return scans, {stats.nth_field_name(i): stats.get_value(stats.nth_field_name(i))
                           for i in range(stats.n_fields())}, warnings
    finally:
        pipeline.set_state(Gst.State.NULL)


def payloads(capture):
    """Bytes of the datagrams of a capture."""
    pipeline = Gst.parse_launch(f'lidarpcapsrc location="{capture}" ! '
                                "fakesink name=sink signal-handoffs=true sync=false")
    out = []
    pipeline.get_by_name("sink").connect(
        "handoff", lambda _, b, __: out.append(b.extract_dup(0, b.get_size())))
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS
    return out
