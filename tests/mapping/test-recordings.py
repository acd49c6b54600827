#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-map build and make from recordings and captures (TAP).

    test-recordings.py NDT-MAP NDT-SCANS
"""

import filecmp
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
import geodesy  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

TOOL, SCANS = map(os.path.abspath, sys.argv[1:])
# As it is installed: beside ndt-map, or in PATH.
WITHOUT = dict(os.environ)
os.environ["PATH"] = os.path.dirname(SCANS) + ":" + os.environ["PATH"]
SENSOR = (1.2, 0.3, 1.5)  # on the vehicle, which is turned by 90 degrees against it


def tool(*arguments, status=0, env=None, cwd=None):
    done = subprocess.run([TOOL, *arguments], capture_output=True, encoding="utf-8", check=False, env=env, cwd=cwd)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def launch(line):
    done = subprocess.run(["gst-launch-1.0", "-q", *line.split()], capture_output=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def points(path):
    """Of a binary PCD file with x, y and z as floats."""
    data = open(path, "rb").read()
    begin = data.index(b"DATA binary\n") + len(b"DATA binary\n")
    return np.frombuffer(data, np.float32, offset=begin).reshape(-1, 3).astype(float)


def cells(xyz, edge=0.25):
    return set(map(tuple, np.floor(xyz / edge).astype(int).tolist()))


def share_on(xyz, surface):
    """Of the points, what lies in a cell of the surface or beside one."""
    known = cells(surface)
    around = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    mine = cells(xyz)
    return sum(any((x + i, y + j, z + k) in known for i, j, k in around) for x, y, z in mine) / len(mine)


def rotation(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def attached(work):
    """A recording of mcapsink: its own poses, and compensated by them; the same bytes from anywhere."""
    launch("lidartestsrc seed=5 num-buffers=40 rings=32 columns=512 motion-distortion=true speed=15 moving-objects=0 "
           f"! mcapsink location={work}/drive.mcap")
    tool("simulate", "--seed=5", "--map-spacing=0.2", f"{work}/town.pcd")
    text = tool("build", "--leaf=0.25", "--min-range=1", "-o", f"{work}/map.pcd", f"{work}/drive.mcap")
    assert "true poses" in text and "scans with a pose: 39\nscans without a pose: 1\n" in text, text
    town = points_of_town(work)
    share = share_on(points(f"{work}/map.pcd"), town)
    print(f"# {share:.3f} of the map lies on the world's surfaces")
    assert share >= 0.99, share
    tool("build", "--leaf=0.25", "--min-range=1", "-o", "again.pcd", "drive.mcap", cwd=work)
    assert filecmp.cmp(f"{work}/map.pcd", f"{work}/again.pcd", shallow=False)
    text = tool("make", "-o", f"{work}/made", f"{work}/drive.mcap")
    assert "motion within scans: compensated" in text and "tracked 40" in text, text
    tool("make", "-o", "made again", "drive.mcap", cwd=work)
    for name in "map.pcd", "poses.txt", "edges.csv":
        assert filecmp.cmp(f"{work}/made/{name}", f"{work}/made again/{name}", shallow=False), name
    # What make found serves build, by time.
    text = tool("build", "-t", f"{work}/made/poses.txt", "-o", f"{work}/third.pcd", f"{work}/drive.mcap")
    assert "scans with a pose: 40\n" in text and "without" not in text, text


def points_of_town(work):
    tool("build", "--leaf=0", "-o", f"{work}/town-binary.pcd", f"{work}/town.pcd")
    return points(f"{work}/town-binary.pcd")


def write_bag(folder, scans, poses, form):
    """A folder of rosbag2 (SQLite3), written by rosbags: clouds of a sensor that looks aside."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore
    store = get_typestore(Stores.ROS2_HUMBLE)
    t = store.types

    def header(time, frame):
        stamp = t["builtin_interfaces/msg/Time"](sec=int(time // 10**9), nanosec=int(time % 10**9))
        return t["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    def pose(p, q):
        return t["geometry_msgs/msg/Pose"](position=t["geometry_msgs/msg/Point"](*p),
                                           orientation=t["geometry_msgs/msg/Quaternion"](*q))

    def transform(time, parent, child, p, q):
        return t["geometry_msgs/msg/TransformStamped"](
            header=header(time, parent), child_frame_id=child,
            transform=t["geometry_msgs/msg/Transform"](translation=t["geometry_msgs/msg/Vector3"](*p),
                                                       rotation=t["geometry_msgs/msg/Quaternion"](*q)))

    mount = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])  # yaw of 90 degrees
    quarter = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
    epoch = 1700000000 * 10**9
    with Writer(folder, version=9) as bag:
        def connect(topic, kind):
            return bag.add_connection(topic, kind, typestore=store)

        def write(to, time, message):
            bag.write(to, time, store.serialize_cdr(message, to.msgtype))

        cloud = connect("/lidar/points", "sensor_msgs/msg/PointCloud2")
        if form == "odometry":
            body = connect("/odom", "nav_msgs/msg/Odometry")
        elif form == "pose":
            body = connect("/pose", "geometry_msgs/msg/PoseStamped")
        else:
            body = connect("/tf", "tf2_msgs/msg/TFMessage")
        if form != "pose":
            fixed = connect("/tf_static", "tf2_msgs/msg/TFMessage")
            write(fixed, epoch, t["tf2_msgs/msg/TFMessage"](
                transforms=[transform(epoch, "base_link", "lidar", SENSOR, quarter)]))
        zero = t["geometry_msgs/msg/TwistWithCovariance"](
            twist=t["geometry_msgs/msg/Twist"](linear=t["geometry_msgs/msg/Vector3"](0, 0, 0),
                                               angular=t["geometry_msgs/msg/Vector3"](0, 0, 0)),
            covariance=np.zeros(36))
        fields = [t["sensor_msgs/msg/PointField"](name=n, offset=4 * i, datatype=7, count=1)
                  for i, n in enumerate("xyz")]
        for (time, p, q), scan in zip(poses, scans):
            at = epoch + int(round(time * 1e9))
            turned = np.ascontiguousarray(scan @ mount, dtype=np.float32)  # as the turned sensor sees it
            write(cloud, at, t["sensor_msgs/msg/PointCloud2"](
                header=header(at, "lidar"), height=1, width=len(turned), fields=fields, is_bigendian=False,
                point_step=12, row_step=12 * len(turned), data=turned.view(np.uint8).reshape(-1), is_dense=True))
            # The simulated pose is of the sensor before it was turned: the body's lies behind it.
            place = p - rotation(q) @ SENSOR
            if form == "pose":  # of the sensor itself
                x, y, z, w = q
                h = np.sqrt(0.5)
                message = t["geometry_msgs/msg/PoseStamped"](
                    header=header(at, "map"),
                    pose=pose(p, (h * (x + y), h * (y - x), h * (z + w), h * (w - z))))
            elif form == "odometry":
                message = t["nav_msgs/msg/Odometry"](
                    header=header(at, "odom"), child_frame_id="base_link", twist=zero,
                    pose=t["geometry_msgs/msg/PoseWithCovariance"](pose=pose(place, q), covariance=np.zeros(36)))
            else:
                step = (5.0, 0.0, 0.0)
                message = t["tf2_msgs/msg/TFMessage"](transforms=[
                    transform(at, "map", "odom", step, (0, 0, 0, 1)),
                    transform(at, "odom", "base_link", place - step, q)])
            write(body, at, message)


def foreign(work):
    """Bags of others: Odometry, PoseStamped and transforms, the sensor's mount by /tf_static."""
    try:
        import rosbags  # noqa: F401
    except ImportError as error:
        if os.environ.get("CI") == "true":
            raise
        return f"SKIP {error}"
    os.mkdir(f"{work}/raw")
    launch("lidartestsrc seed=5 num-buffers=12 rings=32 columns=512 speed=15 moving-objects=0 ! tee name=t ! queue "
           f"! pointcloudconvert ! pointcloud/x-raw,format=XYZ_F32LE ! multifilesink location={work}/raw/%06d.bin "
           f"t. ! queue ! trajectorysink role=ground-truth location={work}/truth.txt")
    rows = np.loadtxt(f"{work}/truth.txt")
    poses = [(row[0], row[1:4], row[4:8]) for row in rows]
    scans = [np.fromfile(f"{work}/raw/{i:06d}.bin", np.float32).reshape(-1, 3) for i in range(len(poses))]
    scans = [scan[np.isfinite(scan).all(1)] for scan in scans]
    truth = np.concatenate([scan @ rotation(q).T + p for (_, p, q), scan in zip(poses, scans)])
    for form, what in ("odometry", "/odom"), ("pose", "/pose"), ("tf", "/tf"):
        write_bag(f"{work}/{form}", scans, poses, form)
        text = tool("build", "-o", f"{work}/{form}.pcd", f"{work}/{form}")
        assert f"poses: {what}, of lidar in {'odom' if form == 'odometry' else 'map'}" in text, text
        assert "scans with a pose: 12\n" in text and "without" not in text, text
        off = np.linalg.norm(points(f"{work}/{form}.pcd") - truth, axis=1).max()
        print(f"# {form}: points off by {off:.2e} m at most")
        # Floats of the clouds and of the map.
        assert off <= 1e-4, off
    # A sensor whose place nobody says; and said on the command line.
    text = tool("build", "-o", f"{work}/x.pcd", "--topic=/none", f"{work}/odometry", status=1)
    assert "/none" in text, text
    text = tool("build", "-o", f"{work}/x.pcd", "--pose-topic=/none", f"{work}/odometry", status=1)
    assert "ndt-bag info" in text, text
    return None


def receiver(work):
    """NavSatFix in a bag of rosbags: the map is where the receiver says, as certain as that says."""
    try:
        from rosbags.rosbag2 import Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        if os.environ.get("CI") == "true":
            raise
        return f"SKIP {error}"
    os.mkdir(f"{work}/raw")
    launch("lidartestsrc seed=5 num-buffers=110 rings=16 columns=512 speed=15 moving-objects=0 ! tee name=t ! queue "
           f"! pointcloudconvert ! pointcloud/x-raw,format=XYZ_F32LE ! multifilesink location={work}/raw/%06d.bin "
           f"t. ! queue ! trajectorysink role=ground-truth location={work}/truth.txt")
    rows = np.loadtxt(f"{work}/truth.txt")
    yaw, origin = np.radians(40), (49.011, 8.4169, 116.3)
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    truth = (rows[:, 1:4] - rows[0, 1:4]) @ turn.T  # east, north, up of the origin
    store = get_typestore(Stores.ROS2_HUMBLE)
    t = store.types
    rng = np.random.default_rng(4)
    epoch = 1700000000 * 10**9
    fields = [t["sensor_msgs/msg/PointField"](name=n, offset=4 * i, datatype=7, count=1) for i, n in enumerate("xyz")]

    def header(time, frame):
        stamp = t["builtin_interfaces/msg/Time"](sec=int(time // 10**9), nanosec=int(time % 10**9))
        return t["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    with Writer(f"{work}/bag", version=9) as bag:
        cloud = bag.add_connection("/lidar/points", "sensor_msgs/msg/PointCloud2", typestore=store)
        fix = bag.add_connection("/gnss/fix", "sensor_msgs/msg/NavSatFix", typestore=store)
        for i, (time, p) in enumerate(zip(rows[:, 0], truth)):
            at = epoch + int(round(time * 1e9))
            scan = np.fromfile(f"{work}/raw/{i:06d}.bin", np.float32).reshape(-1, 3)
            scan = scan[np.isfinite(scan).all(1)]
            message = t["sensor_msgs/msg/PointCloud2"](
                header=header(at, "lidar"), height=1, width=len(scan), fields=fields, is_bigendian=False,
                point_step=12, row_step=12 * len(scan), data=np.ascontiguousarray(scan).view(np.uint8).reshape(-1),
                is_dense=True)
            bag.write(cloud, at, store.serialize_cdr(message, cloud.msgtype))
            # Ten a second until 4 s, then one in five with a fix; the others say that they have none.
            lost = 40 <= i and i % 5
            noise = rng.normal(0, 1, 3) * (0.2, 0.2, 0.4) + (500 if lost else 0)
            place = geodesy.from_enu(p + noise, origin)
            message = t["sensor_msgs/msg/NavSatFix"](
                header=header(at, "antenna"),
                status=t["sensor_msgs/msg/NavSatStatus"](status=-1 if lost else 2, service=1),
                latitude=place[0], longitude=place[1], altitude=place[2],
                position_covariance=np.diag([0.04, 0.04, 0.16]).reshape(-1), position_covariance_type=2)
            bag.write(fix, at + 30000000, store.serialize_cdr(message, fix.msgtype))
    where = ",".join(map(str, origin))
    made = subprocess.run([TOOL, "make", "--recorded-poses", f"--map-origin={where}", "-o", f"{work}/made",
                           f"{work}/bag"], capture_output=True, encoding="utf-8", check=False)
    if "without PROJ" in made.stderr:
        return "SKIP without PROJ"
    assert made.returncode == 0, made.stderr
    print("# " + made.stdout.strip().replace("\n", "\n# "))
    made = np.loadtxt(f"{work}/made/poses.txt")[:, 1:4]
    off = np.linalg.norm(made - truth, axis=1)
    print(f"# receiver: off by {off.mean():.3f} m in the mean, {off.max():.3f} m at most")
    # As of test-make.py given(): some ten factors of 0.2 m an axis, 0.4 m of height.
    assert off.mean() <= 0.4 and off.max() <= 0.8, off
    rows = np.loadtxt(f"{work}/made/covariances.csv", delimiter=",", skiprows=1)
    names = open(f"{work}/made/covariances.csv", encoding="utf-8").readline().strip().split(",")
    x, z = rows[:, names.index("xx")], rows[:, names.index("zz")]
    # The height of a fix counts less, and both are better known by several fixes than by one.
    assert np.all(x < 0.04) and np.all(z < 0.16) and np.all(z > x), (x.max(), z.max())
    text = open(f"{work}/made/map_projector_info.yaml", encoding="utf-8").read()
    assert "LocalCartesian\n" in text and "latitude: 49.011\n" in text, text
    # Without an origin it is the first fix.
    tool("make", "--recorded-poses", "-o", f"{work}/first", f"{work}/bag")
    text = open(f"{work}/first/map_projector_info.yaml", encoding="utf-8").read()
    assert "latitude: 49.01" in text and "latitude: 49.011\n" not in text, text
    assert "--map-origin" in tool("make", "--recorded-poses", "--map-origin=1,2", "-o", f"{work}/x", f"{work}/bag",
                                  status=1)
    # Positions alone are no poses to build from.
    assert "no poses" in tool("build", "-o", f"{work}/x.pcd", f"{work}/bag", status=1)
    return None


def capture(work):
    """A capture of packets makes what the PCD files of its scans make."""
    data = os.path.join(os.environ.get("NDT_TEST_DATA", ""), "packets_velodyne_pcap", "mrpt",
                        "sample_velodyne_hdl32.pcap")
    if not os.path.exists(data):
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{data} is missing: set NDT_TEST_DATA")
        return "SKIP no test data"
    text = tool("make", "-o", f"{work}/made", "--decoder=velodynedec", data)
    print("# " + text.strip().replace("\n", "\n# "))
    assert "motion within scans: compensated" in text, text
    launch(f"lidarpcapsrc location={data} ! velodynedec ! pcdenc ! multifilesink location={work}/%06d.pcd")
    mine = np.loadtxt(f"{work}/made/poses.txt")
    # The times that the scans have; the first one is a part of a turn.
    os.mkdir(f"{work}/files")
    for i, time in enumerate(mine[:, 0]):
        os.rename(f"{work}/{i:06d}.pcd", f"{work}/files/1700000000_{round(time * 1e9)}.pcd")
    tool("make", "-o", f"{work}/of-files", f"{work}/files")
    theirs = np.loadtxt(f"{work}/of-files/poses.txt")
    assert len(mine) == len(theirs) == 4
    off = np.linalg.norm(mine[:, 1:4] - theirs[:, 1:4], axis=1).max()
    print(f"# {len(mine)} scans, off by {off:.2e} m")
    assert off <= 1e-6, off
    text = tool("build", "-t", f"{work}/made/poses.txt", "--decoder=velodynedec", "-o", f"{work}/map.pcd", data)
    assert f"scans with a pose: {len(mine)}\n" in text and "without" not in text, text
    assert "--decoder" in tool("make", "-o", f"{work}/x", data, status=1)
    assert "--trajectory" in tool("build", "--decoder=velodynedec", "-o", f"{work}/x.pcd", data, status=1)
    return None


def refused(work):
    """What cannot be read says why, and leaves no map."""
    for i in range(3):
        np.ones((1000, 3), np.float32).tofile(f"{work}/{i}.bin")
    launch(f"multifilesrc location={work}/%d.bin ! rawpointcloudparse format=XYZ_F32LE framerate=10/1 "
           f"! mcapsink location={work}/bare.mcap")
    text = tool("build", "-o", f"{work}/x.pcd", f"{work}/bare.mcap", status=1)
    assert "no poses" in text and "--trajectory" in text, text
    with open(f"{work}/cut.mcap", "wb") as file:
        file.write(b"\x89MCAP0\r\n" + bytes(100))
    assert "cut.mcap" in tool("make", "-o", f"{work}/x", f"{work}/cut.mcap", status=1)
    with open(f"{work}/few.pcd", "w", encoding="utf-8") as file:
        file.write("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 1\nHEIGHT 1\nDATA ascii\n1 2 3\n")
    assert "no recording" in tool("make", "-o", f"{work}/x", f"{work}/bare.mcap", f"{work}/few.pcd", status=1)
    if os.path.dirname(SCANS) not in WITHOUT.get("PATH", ""):
        text = tool("make", "-o", f"{work}/x", f"{work}/bare.mcap", status=1, env=WITHOUT)
        assert "ndt-scans" in text and "PATH" in text, text
    assert not os.path.exists(f"{work}/x.pcd") and not os.path.exists(f"{work}/x/map.pcd")


def too_large(work):
    """A scan beyond the limit, from a program that goes on writing: said, and not waited for."""
    path = f"{work}/ndt-scans"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable}\nimport struct, sys\n"
                   "out = sys.stdout.buffer\n"
                   "out.write(b'ndtscans2\\n' + struct.pack('<IIq4I29d', 0x4e414353, 1 << 30, 0, 0, 0, 0, 0, *[0.0] * 29))\n"
                   "while True:\n    out.write(bytes(1 << 20))\n")
    os.chmod(path, 0o755)
    with open(f"{work}/any.mcap", "wb") as file:
        file.write(b"\x89MCAP0\r\n" + bytes(100))
    env = dict(os.environ, PATH=f"{work}:{os.environ['PATH']}")
    done = subprocess.run([TOOL, "make", "-o", f"{work}/x", f"{work}/any.mcap"], capture_output=True,
                          encoding="utf-8", check=False, env=env, timeout=120)
    assert done.returncode == 1 and "256 MiB" in done.stderr, (done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    sys.exit(tap.run((attached, foreign, receiver, capture, refused, too_large), in_folders=True))
