#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The public library as applications in Python see it (TAP)."""

import os
import sys
import xml.etree.ElementTree

try:
    import gi
    import numpy

    gi.require_version("Gst", "1.0")
    gi.require_version("GstPointCloud", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, ValueError) as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(0)
from gi.repository import GstPointCloud

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

Gst.init(None)

KITTI = "pointcloud/x-raw, format=XYZI_F32LE, framerate=10/1"


def buffer_of(points):
    return Gst.Buffer.new_wrapped(points.tobytes())


def test_info_from_caps():
    info = GstPointCloud.PointCloudInfo.new_from_caps(Gst.Caps.from_string(KITTI))
    assert info.format == GstPointCloud.PointCloudFormat.XYZI_F32LE
    assert info.point_step == 16
    assert (info.fps_n, info.fps_d) == (10, 1)
    fields = [info.get_field(i) for i in range(info.n_fields)]
    assert [field.name for field in fields] == ["x", "y", "z", "intensity"]
    assert [field.offset for field in fields] == [0, 4, 8, 12]
    assert info.find_field("intensity").type == GstPointCloud.PointFieldType.FLOAT32
    assert info.find_field("ring") is None
    caps = info.to_caps()
    assert caps.get_structure(0).get_string("fields") == (
        "x:F32:0,y:F32:4,z:F32:8,intensity:F32:12")
    assert caps.can_intersect(Gst.Caps.from_string(KITTI))


def test_fields_are_not_shown():
    """An array of structures within one, which PyGObject gives as an empty list and a critical
    message of GLib. What lies behind it in the structure is read where it is."""
    caps = Gst.Caps.from_string(KITTI + ", width=3, height=2, frame-id=lidar")
    info = GstPointCloud.PointCloudInfo.new_from_caps(caps)
    try:
        fields = info.fields
    except AttributeError:
        pass
    else:
        raise AssertionError(f"{fields!r}")
    assert (info.width, info.height) == (3, 2)
    assert GLib.quark_to_string(info.frame_id) == "lidar"


def test_poses_and_boxes():
    pose = GstPointCloud.PointCloudPose.new_from_string("1,2,3,0,0,90")
    assert pose.to_string().startswith("1,2,3,0,0,0.70710678"), pose.to_string()
    assert GstPointCloud.PointCloudPose.new_from_string(pose.to_string()).to_string() == \
        pose.to_string()
    assert GstPointCloud.PointCloudBox.new_from_string("0 0 0 1 2 3").to_string() == "0,0,0,1,2,3"
    try:
        GstPointCloud.PointCloudPose.new_from_string("here")
    except GLib.Error as error:
        assert error.matches(Gst.ResourceError.quark(), Gst.ResourceError.SETTINGS), error.domain
    else:
        raise AssertionError("not refused")


def test_refusal():
    caps = Gst.Caps.from_string(KITTI + ", point-step=20")
    try:
        GstPointCloud.PointCloudInfo.new_from_caps(caps)
    except GLib.Error as error:
        assert error.matches(Gst.CoreError.quark(), Gst.CoreError.NEGOTIATION), error.domain
        assert "\"point-step\" is 20" in error.message, error.message
    else:
        raise AssertionError("not refused")


def test_build_info():
    info = GstPointCloud.PointCloudInfo.new()
    info.format = GstPointCloud.PointCloudFormat.CUSTOM
    info.point_step = 10
    assert info.add_field("v", GstPointCloud.PointFieldType.UINT16, 4, 3)
    assert not info.add_field("v", GstPointCloud.PointFieldType.INT8, 0, 1)
    info.frame_id = GLib.quark_from_string("lidar")
    structure = info.to_caps().get_structure(0)
    assert structure.get_string("fields") == "v:U16:4:3"
    assert structure.get_string("frame-id") == "lidar"


def test_points():
    info = GstPointCloud.PointCloudInfo.new_from_caps(Gst.Caps.from_string(KITTI))
    points = numpy.array([[1, 2, 3, 0.5], [-4, numpy.inf, 6, 0.25]], dtype="<f4")
    buffer = buffer_of(points)
    assert GstPointCloud.point_cloud_buffer_get_n_points(buffer, info) == 2
    xyz = GstPointCloud.point_cloud_buffer_get_xyz(buffer, info)
    xyz = numpy.frombuffer(xyz.get_data()).reshape(-1, 3)
    assert numpy.array_equal(xyz, points[:, :3].astype(float))
    intensity = GstPointCloud.point_cloud_buffer_get_values(buffer, info, "intensity")
    assert numpy.frombuffer(intensity.get_data()).tolist() == [0.5, 0.25]
    # Known layouts can be read as they are.
    raw = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), dtype="<f4")
    assert numpy.array_equal(raw.reshape(-1, 4), points)


def test_torn_buffer():
    info = GstPointCloud.PointCloudInfo.new_from_caps(Gst.Caps.from_string(KITTI))
    buffer = Gst.Buffer.new_wrapped(bytes(17))
    assert GstPointCloud.point_cloud_buffer_get_n_points(buffer, info) == -1
    try:
        GstPointCloud.point_cloud_buffer_get_xyz(buffer, info)
    except GLib.Error as error:
        assert error.matches(Gst.StreamError.quark(), Gst.StreamError.FORMAT)
    else:
        raise AssertionError("not refused")


def test_poses():
    """Written onto a buffer, through a pipeline, read from the sample and as a structure."""
    pipeline = Gst.parse_launch(
        f"appsrc name=source format=time caps=\"{KITTI}\" ! queue ! identity ! appsink name=sink")
    pipeline.set_state(Gst.State.PLAYING)
    buffer = buffer_of(numpy.zeros((1, 4), dtype="<f4"))
    buffer.pts = 0
    pose = GstPointCloud.buffer_add_pose_meta(
        buffer, GstPointCloud.PoseRole.GROUND_TRUTH, [1.5, 2.5, -3948996.125], [0, 0, 0.6, 0.8])
    pose.sequence = 7
    pose.timestamp = 123
    pose.parent_frame = GLib.quark_from_string("map")
    pipeline.get_by_name("source").emit("push-buffer", buffer)
    pipeline.get_by_name("source").emit("end-of-stream")
    sample = pipeline.get_by_name("sink").emit("pull-sample")
    info = GstPointCloud.PointCloudInfo.new_from_caps(sample.get_caps())
    assert info.point_step == 16

    received = sample.get_buffer()
    pose = GstPointCloud.buffer_get_pose_meta(received, GstPointCloud.PoseRole.GROUND_TRUTH)
    reason = GstPointCloud.PoseReason.TOO_FEW_POINTS
    assert pose.reason == GstPointCloud.PoseReason.NONE and pose.describe_reason() is None
    pose.reason, pose.reason_value, pose.reason_bound = reason, 12, 100
    assert pose.describe_reason() == "it has 12 finite points in range, below 100"
    assert reason.value_nick == "too-few-points" and "min-points" in GstPointCloud.pose_reason_get_advice(reason)
    assert pose.has_pose
    assert pose.status.value_nick == "none"
    assert list(pose.position) == [1.5, 2.5, -3948996.125]
    assert list(pose.orientation) == [0, 0, 0.6, 0.8]
    assert (pose.sequence, pose.timestamp) == (7, 123)
    assert GLib.quark_to_string(pose.parent_frame) == "map"
    assert GstPointCloud.buffer_get_pose_meta(
        received, GstPointCloud.PoseRole.ESTIMATE) is None

    structure = GstPointCloud.buffer_get_pose_structure(
        received, GstPointCloud.PoseRole.GROUND_TRUTH)
    assert structure.get_name() == "pose"
    assert structure.get_string("role") == "ground-truth"
    assert structure.get_string("parent-frame") == "map"
    assert structure.get_uint64("sequence").value == 7
    found, position = structure.get_array("position")
    assert found
    assert [position.get_nth(i) for i in range(position.n_values)] == [1.5, 2.5, -3948996.125]
    assert not structure.has_field("covariance")

    copy = Gst.Buffer.new()
    assert GstPointCloud.buffer_add_pose_meta_from_structure(copy, structure).sequence == 7
    pipeline.set_state(Gst.State.NULL)


def test_since():
    """The documentation of all that is public says which release brought it."""
    core = "{http://www.gtk.org/introspection/core/1.0}"
    kinds = {core + kind for kind in (
        "alias", "bitfield", "callback", "constant", "constructor", "enumeration", "function", "method", "record")}
    folder = os.environ["GI_TYPELIB_PATH"].split(":")[0]
    names = xml.etree.ElementTree.parse(f"{folder}/GstPointCloud-1.0.gir").getroot().find(core + "namespace")
    # Functions that a class has are documented with the class.
    virtual = {node for field in names.iter(core + "field") for node in field.iter()}
    public = [node for node in names.iter() if node.tag in kinds and node not in virtual]
    assert len(public) > 50
    for node in public:
        # GObject's own functions are undocumented everywhere.
        assert "version" in node.attrib or node.get("name").endswith("get_type"), node.attrib


sys.exit(tap.run(tap.named(globals())))
