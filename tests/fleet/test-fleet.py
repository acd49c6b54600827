#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pipelines/fleet: drives by the dozen, on this machine, by Ray and by Slurm, with workers killed (TAP).

usage: test-fleet.py NDT_REPLAY

Ray and Slurm where the suite is named (NDT_TEST_NAMED).
"""

import csv
import glob
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

REPLAY = os.path.abspath(sys.argv[1])
ROOT = os.environ["NDT_TEST_ROOT"]
FLEET = os.path.join(ROOT, "pipelines", "fleet")
NAMED = bool(os.environ.get("NDT_TEST_NAMED"))
N = 60 if NAMED else 8
START = "0,0,1.8"
sys.path.insert(0, os.path.join(ROOT, "tests", "record"))
import unittest_tap  # noqa: E402

# Stands in for ndt-replay: notes each run, and takes its worker down once for one drive.
WRAPPER = """#!/bin/bash
echo "$$ begins $5" >>{log}
case $5 in
*/crash)
  if [ ! -e {log}.crashed ]; then
    touch {log}.crashed
    kill -9 $PPID
    exit 1
  fi
  ;;
esac
output=$({replay} "$@" 2>&1)
status=$?
echo "$output"
[[ $output == *"done before"* ]] || echo "$$ ends $5 $status" >>{log}
exit $status
"""


def run(*command, status=0, **kwargs):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=900, **kwargs)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def digest(folder):
    """Of what a drive came to, less the time that it took."""
    sums = {}
    for name in ("replay.mcap", "trajectory.txt", "trajectory.csv", "report.json"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                sums[name] = hashlib.sha256(file.read()).hexdigest()
    return sums


class Fleet(unittest.TestCase):
    data = None

    def make(self):
        """Drives in three maps, and what is wrong with some of them."""
        if Fleet.data:
            return
        Fleet.data = data = tempfile.mkdtemp()
        for world in ("town", "hall", "highway"):
            run(os.environ["NDT_MAP"], "simulate", f"--world={world}", f"{world}.pcd", cwd=data)
        rows = []
        for i in range(N):
            world = ("town", "hall", "highway")[i % 3]
            name = {3: "long", 5: "crash", 4: "wrong-map", 6: "no-start"}.get(i, f"drive{i}")
            scans = 100 if name == "long" else 10
            run("gst-launch-1.0", "-q", "lidartestsrc", f"world={world}", "rings=16", "columns=512",
                f"num-buffers={scans}", f"noise-seed={i}", "!", "mcapsink", "attach-pipeline=false",
                f"location={name}.mcap", cwd=data)
            rows.append({"drive": name, "recording": f"{name}.mcap", "map": f"{world}.pcd", "start": START,
                         "options": ""})
        by_name = {row["drive"]: row for row in rows}
        by_name["wrong-map"]["map"] = "highway.pcd"
        by_name["no-start"]["start"] = ""  # the whole map
        for name in ("drive7", "drive0"):
            with open(os.path.join(data, f"{name}.mcap"), "r+b") as file:
                file.truncate(0)
                file.write(os.urandom(5000))
        by_name["drive1"]["options"] = "resolution=1 --prefix='/a b'"
        with open(os.path.join(data, "manifest.csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        Fleet.rows = by_name
        # What single runs come to.
        Fleet.expected = {}
        for row in rows:
            folder = os.path.join(data, "single", row["drive"])
            done = subprocess.run(
                [REPLAY, os.path.join(data, row["recording"]), os.path.join(data, row["map"]), row["start"] or "auto", folder,
                 *shlex.split(row["options"])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
            Fleet.expected[row["drive"]] = done.returncode, digest(folder)

    @classmethod
    def tearDownClass(cls):
        if cls.data:
            shutil.rmtree(cls.data)

    def setUp(self):
        self.make()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.out = os.path.join(self.folder, "out")
        self.log = os.path.join(self.folder, "log")
        wrapper = os.path.join(self.folder, "ndt-replay")
        with open(wrapper, "w", encoding="ascii") as file:
            file.write(WRAPPER.format(log=self.log, replay=REPLAY))
        os.chmod(wrapper, 0o755)
        self.env = {**os.environ, "NDT_REPLAY": wrapper}

    def rows_done(self):
        return glob.glob(os.path.join(self.out, "*", "row.json"))

    def start_and_kill(self, *command, rows, **kwargs):
        """Starts a job and kills all of it when some drives are done."""
        with subprocess.Popen(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True, **kwargs) as process:
            end = time.monotonic() + 600
            # One drive takes its worker down, which is the job where there is no other process.
            while len(self.rows_done()) < rows and process.poll() != -signal.SIGKILL:
                self.assertTrue(time.monotonic() < end and process.poll() is None, "nothing is done")
                time.sleep(0.05)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return {path: os.stat(path).st_mtime_ns for path in self.rows_done()}

    def check(self, before):
        """A row for each drive, each right; nothing that was done before is done again."""
        with open(os.path.join(self.out, "drives.jsonl"), encoding="utf-8") as file:
            rows = {row["drive"]: row for row in map(json.loads, file)}
        self.assertEqual(set(rows), set(self.rows))
        names = {0: "localized", 3: "not-localized", 4: "bad-input"}
        for name, (status, sums) in self.expected.items():
            row = rows[name]
            self.assertEqual(row["result"], names[status], row)
            found = digest(os.path.join(self.out, name))
            # Paths and folders stand in the report, and are as given: the same.
            self.assertEqual(found, sums, name)
        self.assertEqual({rows[name]["result"] for name in ("drive0", "drive7")}, {"bad-input"})
        self.assertEqual(rows["wrong-map"]["result"], "not-localized")
        self.assertEqual(rows["long"]["scans"], 100)
        for path, when in before.items():
            self.assertEqual(os.stat(path).st_mtime_ns, when, path)
        with open(self.log, encoding="ascii") as file:
            ends = [line.split()[2] for line in file if " ends " in line]
        # Once: what goes on after its worker was killed is found by the next one. What was killed itself
        # has no end.
        self.assertEqual(sorted(os.path.basename(end) for end in ends), sorted(self.rows))
        with open(os.path.join(self.out, "drives.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn(f"{N} of {N} drives", page)
        # The worst first, and none from elsewhere.
        self.assertLess(page.index("<td>wrong-map"), page.index("<td>long"))
        self.assertNotIn("http", page)

    def test_here(self):
        command = [sys.executable, os.path.join(FLEET, "fleet.py"), "run", os.path.join(self.data, "manifest.csv"),
                   self.out, "--jobs=2", "--pause=0.01"]
        before = self.start_and_kill(*command, rows=2)
        # The drive that takes its worker down takes all of this job.
        subprocess.run(command, env=self.env, stdout=subprocess.DEVNULL, timeout=900)
        run(*command, env=self.env)
        self.check(before)
        output = run(sys.executable, os.path.join(FLEET, "fleet_simulate.py"), os.path.join(self.out, "drives.jsonl"),
                     "--drives=1000", "--workers=1,2,1000")
        spans = [float(line.split(" seconds=")[1].split()[0]) for line in output.splitlines()]
        self.assertTrue(spans[0] > spans[1] >= spans[0] / 2 - 0.1 and spans[1] >= spans[2] > 0, output)

    def test_limits(self):
        """A drive that takes too long, too much memory, or ends as the next time it might not."""
        manifest = os.path.join(self.folder, "m.jsonl")
        with open(manifest, "w", encoding="ascii") as file:
            file.write(json.dumps({"recording": os.path.join(self.data, "drive2.mcap"),
                                   "map": os.path.join(self.data, "highway.pcd"), "start": START}) + "\n")

        def row(*options, program):
            with open(os.path.join(self.folder, "ndt-replay"), "w", encoding="ascii") as file:
                file.write("#!/bin/bash\n" + program)
            shutil.rmtree(self.out, True)
            run(sys.executable, os.path.join(FLEET, "fleet.py"), "run", manifest, self.out, "--pause=0.01", *options,
                env=self.env)
            with open(os.path.join(self.out, "drive2", "row.json"), encoding="ascii") as file:
                return json.load(file)

        found = row("--time=0.5", program="sleep 100\n")
        self.assertEqual((found["result"], found["attempts"]), ("timeout", 1))
        found = row("--memory=64", program=f"exec {REPLAY} \"$@\"\n")
        self.assertNotEqual(found["result"], "localized")
        self.assertEqual(found["attempts"], 3)
        found = row("--attempts=5", program=f"echo x >>{self.log}\n[ $(wc -l <{self.log}) -ge 3 ] || exit 6\nexit 4\n")
        self.assertEqual((found["result"], found["attempts"]), ("bad-input", 3))
        found = row("--attempts=2", program="kill -SEGV $$\n")
        self.assertEqual((found["result"], found["attempts"]), ("crashed", 2))

    def test_manifests(self):
        """The three forms say the same; what is wrong is said."""
        if not NAMED:
            self.skipTest("Parquet is read where the suite fleet is named")
        import pyarrow
        import pyarrow.parquet
        rows = list(self.rows.values())
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), os.path.join(self.data, "manifest.parquet"))
        with open(os.path.join(self.data, "manifest.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        sys.path.insert(0, FLEET)
        import fleet
        drives = [fleet.read_manifest(os.path.join(self.data, f"manifest.{kind}")) for kind in ("csv", "jsonl", "parquet")]
        self.assertEqual(drives[0], drives[1])
        self.assertEqual(drives[0], drives[2])
        maps = [drive["map"] for drive in drives[0]]
        self.assertEqual(maps, sorted(maps))

    def test_ray(self):
        if not NAMED:
            self.skipTest("Ray is run where the suite fleet is named")
        command = [sys.executable, os.path.join(FLEET, "fleet_ray.py"), os.path.join(self.data, "manifest.csv"), self.out,
                   "--jobs=2", "--pause=0.01"]
        before = self.start_and_kill(*command, rows=N // 3)
        subprocess.run(["pkill", "-9", "-f", "ray::"], check=False)
        run(*command, env=self.env)
        self.check(before)
        import pyarrow.parquet
        table = pyarrow.parquet.read_table(os.path.join(self.out, "drives.parquet"))
        self.assertEqual(table.num_rows, N)

    def test_slurm(self):
        if not NAMED:
            self.skipTest("Slurm is run where the suite fleet is named")
        self.start_slurm()
        command = [sys.executable, os.path.join(FLEET, "fleet_slurm.py"), os.path.join(self.data, "manifest.csv"),
                   self.out, "--tasks=20", "--pause=0.01"]
        # The one who waits is killed, and a task that runs.
        before = self.start_and_kill(*command, rows=N // 3)
        jobs = run("squeue", "--noheader", "--states=RUNNING", "--format=%A", env=self.env).split()
        self.assertTrue(jobs)
        run("scancel", "--signal=KILL", "--full", jobs[0], env=self.env)
        end = time.monotonic() + 600
        while run("squeue", "--noheader", env=self.env).strip() and time.monotonic() < end:
            time.sleep(0.2)
        run(*command, env=self.env)
        self.check(before)

    def test_kubernetes(self):
        """The template is of its schema, and its command line does the drives: a pod is a process here."""
        if not NAMED:
            self.skipTest("the Kubernetes template is checked where the suite fleet is named")
        import copy
        import kubernetes_validate
        import yaml
        with open(os.path.join(FLEET, "kubernetes.yaml"), encoding="utf-8") as file:
            job = yaml.safe_load(file)
        broken = copy.deepcopy(job)
        broken["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
        for version in "1.25.0", kubernetes_validate.latest_version():
            kubernetes_validate.validate(job, version, strict=True)
            with self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(broken, version, strict=True)
        spec = job["spec"]
        pods = spec["completions"]
        container = spec["template"]["spec"]["containers"][0]
        self.assertIn(f"--of={pods}", container["args"][0])
        self.assertEqual(container["volumeMounts"][0]["name"], spec["template"]["spec"]["volumes"][0]["name"])
        line = container["args"][0].replace("/usr/share/gst-ndt/fleet", FLEET).replace("python3", sys.executable)
        line = line.replace("/drives/manifest.csv", os.path.join(self.data, "manifest.csv")).replace("/drives/out", self.out)
        lost = 0
        for index in range(pods):
            while True:
                pod = subprocess.run([*container["command"], line], env={**self.env, "JOB_COMPLETION_INDEX": str(index)},
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900)
                if pod.returncode == 0:
                    break
                lost += 1
                self.assertLessEqual(lost, spec["backoffLimit"])
        self.assertEqual(lost, 1)  # by the drive that takes its worker down
        run(sys.executable, os.path.join(FLEET, "fleet.py"), "report", os.path.join(self.data, "manifest.csv"), self.out)
        self.check({})

    def start_slurm(self):
        """A controller and a node on this machine, without other users."""
        state = os.path.join(self.folder, "slurm")
        for name in ("state", "spool"):
            os.makedirs(os.path.join(state, name))
        ports = []
        for _ in range(2):
            with socket.socket() as free:
                free.bind(("", 0))
                ports.append(free.getsockname()[1])
        host = socket.gethostname().split(".")[0]
        config = os.path.join(state, "slurm.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={state}/state
SlurmdSpoolDir={state}/spool
SlurmctldPidFile={state}/slurmctld.pid
SlurmdPidFile={state}/slurmd.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdLogFile={state}/slurmd.log
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        self.env["SLURM_CONF"] = config
        for daemon in ("slurmctld", "slurmd"):
            process = subprocess.Popen([daemon, "-D"], env=self.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        end = time.monotonic() + 120
        while "idle" not in subprocess.run(["sinfo", "--noheader", "--format=%T"], env=self.env, text=True,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout:
            if time.monotonic() > end:
                with open(os.path.join(state, "slurmctld.log"), encoding="utf-8") as log:
                    self.fail(log.read()[-2000:])
            time.sleep(0.2)


if __name__ == "__main__":
    unittest_tap.run()
    Fleet.tearDownClass()
