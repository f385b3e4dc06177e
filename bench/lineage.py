"""What questions to a large record cost.

The record is generated: one job is recorded, and its row is the pattern of all others.
`Record.step()` adds an execution that read and wrote certain files, which may be on the
disk or not."""

import hashlib
import json
import os
import sqlite3
import subprocess

from measure import wall_ms

RERUN_STEPS, LANES = 1000, 10
RERUN_GOAL_MS = 200
LARGE_JOBS = 1000  # of each session
LOOK_GOAL_MS, DAG_GOAL_MS, WALK_GOAL_MS, EXPORT_GOAL_MS = 30, 60, 100, 500

INPUT, OUTPUT, REGULAR = 1, 2, 1
SECOND = 1_000_000_000


class Record:
    """The record of a new project at `path`, filled in one transaction."""

    def __init__(self, roar, path):
        self.root, self.roar, self.artifacts, self.paths = path, roar, {}, {}
        subprocess.run([roar, "run", "-q", "true"], cwd=path, check=True)
        self.db = sqlite3.connect(os.path.join(path, ".roar", "roar.db"),
                                  isolation_level=None)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("BEGIN")
        found = self.db.execute("SELECT * FROM jobs")
        self.columns = [c[0] for c in found.description]
        self.pattern = dict(zip(self.columns, found.fetchone()))
        self.db.execute("DELETE FROM jobs")
        self.n, self.n_files = 0, 0

    def hash_files(self, names):
        """The digests of files that are on the disk."""
        for at in range(0, len(names), 1000):
            done = subprocess.run([self.roar, "hash", "--json", *names[at:at + 1000]],
                                  cwd=self.root, check=True,
                                  stdout=subprocess.PIPE)
            for row in json.loads(done.stdout):
                self.artifacts[row["path"]] = bytes.fromhex(
                    row["digests"]["blake3"])

    def _path_id(self, name):
        if name not in self.paths:
            self.paths[name] = self.db.execute(
                "INSERT INTO paths (path) VALUES (?)",
                (os.path.join(self.root, name),)).lastrowid
        return self.paths[name]

    def _artifact_id(self, name, size):
        digest = self.artifacts.get(name)
        if isinstance(digest, int):
            return digest
        digest = digest or hashlib.sha256(name.encode()).digest()
        self.db.execute("INSERT OR IGNORE INTO artifacts (blake3, size, "
                        "first_seen_ns) VALUES (?, ?, 1)", (digest, size))
        self.artifacts[name] = self.db.execute(
            "SELECT id FROM artifacts WHERE blake3 = ?", (digest,)).fetchone()[0]
        return self.artifacts[name]

    def _add_file(self, n, name, role):
        try:
            st = os.stat(os.path.join(self.root, name))
            stamp = (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns,
                     st.st_ctime_ns)
        except OSError:
            stamp = (1, 1, 1000, 1, self.n)
        self.db.execute(
            "INSERT INTO job_files (job_id, n, path_id, role, intermediate, "
            "filter, ftype, seen, artifact_id, dev, ino, size, mtime_ns, "
            "ctime_ns, read_order, write_order, reader, writer) VALUES "
            f"(?, ?, ?, ?, 0, 0, {REGULAR}, 1, ?, ?, ?, ?, ?, ?, 1, 1, 1, 1)",
            (self.n, n, self._path_id(name), role,
             self._artifact_id(name, stamp[2]), *stamp))

    def step(self, inputs, outputs):
        self.n += 1
        self.n_files += len(inputs) + len(outputs)
        job = dict(self.pattern)
        argv = ["python3", "step.py", str(self.n)]
        job.update(id=self.n, step=self.n, attempt=1, uid=f"{self.n:08x}",
                   started_ns=self.pattern["started_ns"] + self.n * SECOND,
                   n_inputs=len(inputs), n_outputs=len(outputs),
                   command=" ".join(argv), argv=json.dumps(argv),
                   command_id=hashlib.sha256(job["uid"].encode() +
                                             b"%d" % self.n).digest()[:16])
        self.db.execute(f"INSERT INTO jobs ({','.join(self.columns)}) VALUES "
                        f"({','.join('?' * len(self.columns))})",
                        [job[c] for c in self.columns])
        for i, name in enumerate(inputs):
            self._add_file(i, name, INPUT)
        for i, name in enumerate(outputs):
            self._add_file(len(inputs) + i, name, OUTPUT)

    def close(self):
        self.db.execute("UPDATE sessions SET n_jobs = ?, n_steps = ?, n_files = ?",
                        (self.n, self.n, self.n_files))
        self.db.execute("COMMIT")
        self.db.close()


def rerun_record(bench):
    """Ten lanes of a hundred steps; each reads a script, what the step before it wrote,
    and a file of its own."""
    project = bench.project("rerun", bench.ram)
    names = ["step.py"]
    for k in range(RERUN_STEPS):
        names += [f"out{k}", f"data{k}"]
    for name in names:
        with open(os.path.join(project, name), "w", encoding="utf-8") as f:
            f.write(name)
    record = Record(bench.roar, project)
    record.hash_files(names)
    for k in range(RERUN_STEPS):
        before = [f"out{k - LANES}"] if k >= LANES else []
        record.step(["step.py", f"data{k}", *before], [f"out{k}"])
    record.close()
    return project


def md5_of(path):
    with open(path, "rb") as f:
        return hashlib.md5(f.read()).hexdigest()


def dvc_files(project, path):
    """The same graph as stages of DVC, all up to date, beside copies of the files."""
    names = [n for n in os.listdir(project) if n != ".roar"]
    os.makedirs(path)
    for name in names:
        os.link(os.path.join(project, name), os.path.join(path, name))
    known = {n: {"path": n, "hash": "md5", "md5": md5_of(os.path.join(path, n)),
                 "size": os.stat(os.path.join(path, n)).st_size} for n in names}
    stages, lock = {}, {}
    for k in range(RERUN_STEPS):
        deps = sorted(["step.py", f"data{k}"] +
                      ([f"out{k - LANES}"] if k >= LANES else []))
        cmd, out = f"python3 step.py {k}", f"out{k}"
        stages[f"s{k}"] = {"cmd": cmd, "deps": deps, "outs": [{out: {"cache": False}}]}
        lock[f"s{k}"] = {"cmd": cmd, "deps": [known[d] for d in deps],
                         "outs": [known[out]]}
    for name, what in (("dvc.yaml", {"stages": stages}),
                       ("dvc.lock", {"schema": "2.0", "stages": lock})):
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            json.dump(what, f)  # which is YAML too


def dvc_rows(bench, project):
    dvc = bench.args.peer and os.path.join(bench.args.peer, "bin", "dvc")
    if not dvc or not os.path.exists(dvc):
        print("bench: no dvc in --peer: no row of dvc repro")
        return
    path = os.path.join(bench.made("dvc"), "project")
    dvc_files(project, path)
    env = ["env", "DVC_NO_ANALYTICS=1", f"HOME={path}", dvc]
    for args in (["init", "--no-scm", "-q"], ["repro"]):
        wall_ms([*env, *args], path)
    bench.add("  dvc repro, the same", "ms", None,
              [wall_ms([*env, "repro"], path) for _ in range(bench.reps(3))])


def rerun_rows(bench):
    project = rerun_record(bench)
    told = subprocess.run([bench.roar, "rerun", "--json"], cwd=project, check=True,
                          stdout=subprocess.PIPE).stdout
    assert json.loads(told) == {"status": "done", "up_to_date": RERUN_STEPS,
                                "steps": []}, told[:500]
    for title, args, goal in (
            ("rerun of 1,000 steps with nothing to do", ["rerun"], RERUN_GOAL_MS),
            ("  plan of all of them", ["rerun", "--dry-run", "--force"], None),
            ("  status", ["status"], None)):
        bench.add(title, "ms", goal, [wall_ms([bench.roar, *args], project)
                                      for _ in range(bench.reps(11))])
    dvc_rows(bench, project)


def large_record(bench):
    """10 sessions of 1,000 jobs (lineage_store.c); a file that the last job wrote."""
    project = os.path.join(bench.work, "large-record")
    os.mkdir(project)
    done = subprocess.run([bench.tool("lineage_store"), project, "10", str(LARGE_JOBS)],
                          check=True, stdout=subprocess.PIPE)
    return project, done.stdout.decode().split()[2]


def large_rows(bench):
    if not os.path.exists(bench.tool("lineage_store")):
        return
    project, path = large_record(bench)
    # 100 jobs led to this one: with their 9,800 files that is what an export draws.
    early = os.path.join(os.path.dirname(os.path.dirname(path)), "00100", "part-000.bin")
    # The last job was made from all jobs of its session: 1,000 of them and 9,000 files.
    for title, args, goal in (
            ("status, 100,000 of 1,000,000 files", ["status"], LOOK_GOAL_MS),
            ("log", ["log"], LOOK_GOAL_MS),
            ("show", ["show", f"@{LARGE_JOBS}"], LOOK_GOAL_MS),
            ("dag", ["dag"], DAG_GOAL_MS),
            ("why", ["why", path], WALK_GOAL_MS),
            ("lineage of 10,000 nodes", ["lineage", path], WALK_GOAL_MS),
            ("inputs --all of 10,000 nodes", ["inputs", "--all", path], WALK_GOAL_MS),
            ("export of 10,000 nodes, dot", ["export", early, "--format", "dot"],
             EXPORT_GOAL_MS),
            ("export of 10,000 nodes, PROV", ["export", early, "--format", "prov"],
             EXPORT_GOAL_MS),
            ("export of 10,000 nodes, page", ["export", early, "--format", "html"],
             EXPORT_GOAL_MS)):
        bench.add(title, "ms", goal, [wall_ms([bench.roar, *args], project)
                                      for _ in range(bench.reps(11))])


def rows(bench):
    rerun_rows(bench)
    large_rows(bench)
