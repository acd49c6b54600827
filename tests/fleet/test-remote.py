#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings and results on servers: parts over bad lines, signatures, credentials (TAP).

usage: test-remote.py NDT_REPLAY

S3 is moto's server, where the suite is named (NDT_TEST_NAMED); HTTP is a server of the test's own.
"""

import hashlib
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

REPLAY = os.path.abspath(sys.argv[1])
ROOT = os.environ["NDT_TEST_ROOT"]
NAMED = bool(os.environ.get("NDT_TEST_NAMED"))
START = "0,0,1.8"
sys.path.insert(0, os.path.join(ROOT, "tests", "record"))
import unittest_tap  # noqa: E402


class Handler(http.server.BaseHTTPRequestHandler):
    """Files with ranges; faults as the server's attributes say."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, dict(self.headers)))
        if len(server.requests) > server.change_after:
            server.etag = '"2"'
        if server.denied:
            self.send_error(403)
            return
        path = os.path.join(server.folder, self.path.split("?")[0].lstrip("/"))
        if not os.path.isfile(path):
            self.send_error(404)
            return
        if server.busy > 0:
            server.busy -= 1
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if server.etag and self.headers.get("If-Match", server.etag) != server.etag:
            self.send_error(412)
            return
        with open(path, "rb") as file:
            data = file.read()
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        part = data
        if found and server.ranges:
            first, last = int(found[1]), min(int(found[2]), len(data) - 1)
            part = data[first:last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(part)))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        # Every so often the line breaks in the middle.
        if server.cuts and len(part) > 1000 and len(server.requests) % 3 == 0:
            self.wfile.write(part[:len(part) // 2])
            server.sent += len(part) // 2
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(part)
        server.sent += len(part)


class Remote(unittest.TestCase):
    common = None

    def setUp(self):
        if not Remote.common:
            Remote.common = tempfile.mkdtemp()
            self.command(os.environ["NDT_MAP"], "simulate", "town.pcd", cwd=Remote.common)
            self.command("gst-launch-1.0", "-q", "lidartestsrc", "rings=32", "num-buffers=40", "!", "mcapsink",
                         "location=drive.mcap", cwd=Remote.common)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.folder, self.server.requests, self.server.sent = Remote.common, [], 0
        self.server.ranges, self.server.cuts, self.server.busy = True, False, 0
        self.server.etag, self.server.denied, self.server.change_after = '"1"', False, 1e9
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def command(self, *command, status=0, **kwargs):
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=300, **kwargs)
        self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}")
        return done.stdout

    def replay(self, recording, out, *options, status=0):
        return self.command(REPLAY, recording, os.path.join(Remote.common, "town.pcd"), START, out, *options,
                            status=status, cwd=self.folder, env=self.env)

    def digests(self, out):
        return {name: hashlib.sha256(open(os.path.join(self.folder, out, name), "rb").read()).hexdigest()
                for name in ("trajectory.txt", "trajectory.csv")}

    def test_parts(self):
        """Nothing is fetched twice though it is read twice, and the results are those of the file."""
        self.replay(os.path.join(Remote.common, "drive.mcap"), "here")
        size = os.path.getsize(os.path.join(Remote.common, "drive.mcap"))
        self.replay(f"{self.url}/drive.mcap", "there")
        self.assertEqual(self.digests("here"), self.digests("there"))
        self.assertLess(self.server.sent, 1.1 * size)
        self.assertTrue(all("Range" in headers for _, headers in self.server.requests))
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "there"))),
                         ["replay.mcap", "report.json", "trajectory.csv", "trajectory.txt"])
        with open(os.path.join(self.folder, "there", "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["inputs"]["recording"]["sha256"], 'etag:"1"')
        self.assertEqual(report["inputs"]["recording"]["bytes"], size)

        def messages(out):
            from mcap.reader import make_reader
            with open(os.path.join(self.folder, out, "replay.mcap"), "rb") as file:
                return [(c.topic, m.log_time, m.data) for _, c, m in make_reader(file).iter_messages()]

        self.assertEqual(messages("here"), messages("there"))

    def test_bad_lines(self):
        """Connections that break go on where they were, a busy server is asked again."""
        size = os.path.getsize(os.path.join(Remote.common, "drive.mcap"))
        self.server.cuts, self.server.busy = True, 3
        self.replay(f"{self.url}/drive.mcap", "cut")
        self.server.cuts = False
        self.assertLess(self.server.sent, 1.1 * size)
        self.replay(os.path.join(Remote.common, "drive.mcap"), "here")
        self.assertEqual(self.digests("here"), self.digests("cut"))

    def test_faults(self):
        # Nobody answers there: another time may be better.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.replay(f"http://127.0.0.1:{free.getsockname()[1]}/drive.mcap", "out", status=6)
        self.assertIn("404", self.replay(f"{self.url}/none.mcap", "out", status=4))
        self.server.denied = True
        self.assertIn("403", self.replay(f"{self.url}/drive.mcap", "out", status=4))
        self.server.denied, self.server.ranges = False, False
        self.assertIn("no parts", self.replay(f"{self.url}/drive.mcap", "out", status=4))
        self.server.ranges = True
        self.assertIn("only MCAP", self.replay(f"{self.url}/town.pcd", "out", status=4))
        # Another version while it is read: not a mixture of both.
        self.server.requests.clear()
        self.server.change_after = 4
        self.assertIn("changed", self.replay(f"{self.url}/drive.mcap", "out", status=4))

    def test_secrets(self):
        """What signs a location is in no message, recording or report."""
        location = self.url.replace("//", "//me:hidden@") + "/drive.mcap?X-Amz-Signature=secret"
        output = self.replay(location, "out")
        self.assertTrue(all(path.endswith("?X-Amz-Signature=secret") for path, _ in self.server.requests))
        self.assertTrue(all("Authorization" in headers for _, headers in self.server.requests))
        output += self.replay(location.replace("drive", "none"), "other", status=4)
        for folder in ("out", "other"):
            for name in os.listdir(os.path.join(self.folder, folder)):
                with open(os.path.join(self.folder, folder, name), "rb") as file:
                    output += file.read().decode("latin-1")
        for secret in ("hidden", "secret"):
            self.assertNotIn(secret, output)

    def test_s3(self):
        """Read by parts, written in several, signed as botocore does."""
        if not NAMED:
            self.skipTest("S3 is run where the suite fleet is named")
        import boto3
        import moto.server
        server = moto.server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        self.addCleanup(server.stop)
        while not server._server_ready_event.is_set():
            time.sleep(0.05)
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "hidden/secret+key"}
        s3 = boto3.client("s3", endpoint_url=endpoint, region_name="eu-central-1", **keys)
        s3.create_bucket(Bucket="drives", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        key = "day 1/a+b (ü)/drive.mcap"
        s3.upload_file(os.path.join(Remote.common, "drive.mcap"), "drives", key)
        self.env |= {"AWS_ACCESS_KEY_ID": keys["aws_access_key_id"], "AWS_REGION": "eu-central-1",
                     "AWS_SECRET_ACCESS_KEY": keys["aws_secret_access_key"], "AWS_ENDPOINT_URL": endpoint}
        output = self.replay(f"s3://drives/{key}", "s3://drives/results/drive 1")
        self.assertIn("result=localized", output)
        self.replay(os.path.join(Remote.common, "drive.mcap"), "here")
        for name, digest in self.digests("here").items():
            body = s3.get_object(Bucket="drives", Key=f"results/drive 1/{name}")["Body"].read()
            self.assertEqual(hashlib.sha256(body).hexdigest(), digest)
        # It is longer than one part.
        about = s3.head_object(Bucket="drives", Key="results/drive 1/replay.mcap")
        self.assertGreater(about["ContentLength"], 16 << 20)
        self.assertIn("-", about["ETag"])
        output = self.replay(f"s3://drives/{key}", "s3://drives/results/drive 1", "--resume")
        self.assertIn("done before", output)
        self.check_signatures(endpoint)

    def check_signatures(self, endpoint):
        """The Authorization that was sent, against botocore's for the same request."""
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
        import datetime
        self.env["AWS_ENDPOINT_URL"] = self.url
        self.env["AWS_SESSION_TOKEN"] = "token"
        os.makedirs(os.path.join(Remote.common, "bucket"), exist_ok=True)
        shutil.copy(os.path.join(Remote.common, "drive.mcap"), os.path.join(Remote.common, "bucket", "x.mcap"))
        self.server.requests.clear()
        self.replay("s3://bucket/x.mcap", "signed")
        self.assertTrue(self.server.requests)
        for path, headers in self.server.requests:
            sent = headers["Authorization"]
            names = re.search("SignedHeaders=([^,]*)", sent)[1].split(";")
            self.assertIn("host", names)
            self.assertIn("x-amz-content-sha256", names)
            self.assertIn("x-amz-date", names)
            lower = {name.lower(): value for name, value in headers.items()}
            request = AWSRequest(method="GET", url=self.url + path,
                                 headers={name: lower[name] for name in names if name != "host"})
            request.context["timestamp"] = lower["x-amz-date"]
            request.context["payload_signing_enabled"] = True

            class Auth(S3SigV4Auth):
                def headers_to_sign(self, request):
                    found = super().headers_to_sign(request)
                    for name in list(found.keys()):
                        if name not in names:
                            del found[name]
                    return found

            auth = Auth(Credentials(self.env["AWS_ACCESS_KEY_ID"], self.env["AWS_SECRET_ACCESS_KEY"]), "s3",
                        self.env["AWS_REGION"])
            canonical = auth.canonical_request(request)
            expected = auth.signature(auth.string_to_sign(request, canonical), request)
            self.assertEqual(re.search("Signature=([0-9a-f]+)", sent)[1], expected)


if __name__ == "__main__":
    try:
        unittest_tap.run()
    finally:
        if Remote.common:
            shutil.rmtree(Remote.common)
