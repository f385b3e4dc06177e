"""What each page needs before its blocks can run: files, a coordinator, names.

`Page` has the rest: a folder with a project, the words that are replaced because a
size or an address of the page is not for a test, and the servers that were started."""

import io
import os
import signal
import socket
import subprocess
import sys
import tarfile

import snippet_names
import snippets

import roar


class Page:
    """A page without needs of its own."""

    replaced = {}

    def __init__(self, folder):
        self.folder = folder
        self.project = folder / "project"
        self.elsewhere = folder / "elsewhere"
        self.servers, self.open = [], []
        for path in (self.project, self.elsewhere, folder / "bin", folder / "home"):
            path.mkdir()
        for name, program in (("roar", os.environ["ROAR"]),
                              ("roar-coordinator", os.environ.get("COORDINATOR")),
                              ("python", sys.executable)):
            if program:
                (folder / "bin" / name).symlink_to(program)
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.words = {"10.0.0.1:50051": self.address,
                      "10.0.0.1:51051": f"127.0.0.1:{port + 1000}",
                      "/var/lib/roar": str(folder / "coordinator"),
                      "/home/you/project": str(self.project), **self.replaced}
        self.environment = {
            **os.environ, "PATH": f"{folder}/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"), "ROAR_COORDINATOR": self.address}
        self.environment.pop("PYTHONPATH", None)
        self.environment.pop("LD_LIBRARY_PATH", None)
        self.names = {"__name__": "page", "roar": roar, "checkpoint": {},
                      **{name: thing for name, thing in vars(snippet_names).items()
                         if not name.startswith("_")}}
        self.prepare()

    def prepare(self):
        pass

    def before(self, block):
        """Called before each block that is run."""

    def local(self, text):
        for word, other in self.words.items():
            text = text.replace(word, other)
        return text

    def run(self, block):
        self.before(block)
        if block.kind == "python":
            exec(compile(self.local(block.text), block.name, "exec"), self.names)
            return
        where = self.project if block.kind == "session" else self.elsewhere
        for command, shown in snippets.session_of(block):
            self.step(self.local(command), [self.local(s) for s in shown], where)

    def step(self, command, shown, where):
        if command.startswith("roar-coordinator"):
            self.serve(command, shown)
            return
        if "--watch" in command:  # until Ctrl-C
            command = (f"timeout -s INT 1 {command.partition('#')[0]}; "
                       "test $? = 124 -o $? = 130 -o $? = 0")
        snippets.run_step(command, shown, cwd=where, env=self.environment)

    def serve(self, command, shown):
        with open(self.folder / "log", "ab") as log:
            server = subprocess.Popen(["bash", "-c", f"exec {command}"],
                                      stdout=subprocess.PIPE, stderr=log, text=True,
                                      cwd=self.project, env=self.environment)
        self.servers.append(server)
        said = server.stdout.readline()
        if shown:
            snippets.compare(shown, said)

    def close(self):
        for thing in [*self.open, *self.names.values()]:
            if isinstance(thing, (roar.Arena, roar.TrainingOrchestrator)):
                thing.close()
        for server in self.servers:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            server.wait()
            server.stdout.close()


def free_port():
    """One whose thousandth successor is free as well."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                two.bind(("127.0.0.1", port + 1000))
            except (OSError, OverflowError):
                continue
            return port


def write_tar(path, numbers):
    with tarfile.open(path, "w") as tar:
        for n in numbers:
            for extension, content in (("jpg", b"j" * 100), ("cls", b"%d" % (n % 10))):
                member = tarfile.TarInfo(f"{n:06}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def write_shards(folder):
    folder.mkdir()
    for n in range(4):
        write_tar(folder / f"train-{n:04}.tar", range(n * 160, n * 160 + 160))


def padded(text, size):
    return text + "#" * (size - len(text) - 1) + "\n"


class Readme(Page):
    replaced = {"num_workers=8": "num_workers=2", "3G:64M": "8M:1M"}

    def prepare(self):
        files = {
            "raw.csv": "1,2,3\n" * 115 + "4\n",
            "prepare.py": padded('open("train.csv", "w").write('
                                 'open("raw.csv").read()[3:])', 88),
            "train.py": padded('import sys\nopen("train.csv").read()\n'
                               'open("model.json", "w").write(\'{"a": %.2f}\' % '
                               'float(sys.argv[1].split("=")[1]))', 155),
            "evaluate.py": padded('open("metrics.json", "w").write('
                                  'open("model.json").read() + "!")', 100)}
        for name, text in files.items():
            (self.project / name).write_text(text)
        (self.elsewhere / "train.py").write_text("print('trained')\n")
        write_shards(self.project / "data")
        (self.project / "model.pt").write_bytes(os.urandom(20 << 20))
        os.chdir(self.project)
        self.names.update(
            array=bytearray(100), rank=0, dataset=list(range(256)),
            paths=sorted(str(p) for p in (self.project / "data").iterdir()))

    def before(self, block):
        if "roar verify" in block.text:
            self.damage()
        if "init_from_env" in block.text:
            os.environ.update(RANK="0", WORLD_SIZE="1")

    def damage(self):
        """A model that a run has made and that is not what it was."""
        snippets.run_step("roar run -q sh -c 'head -c 20M /dev/urandom >model.pt'",
                          [], cwd=self.project, env=self.environment)
        with open(self.project / "model.pt", "r+b") as f:
            f.seek(3500000)
            f.write(b"damaged")


class Arena(Page):
    def prepare(self):
        self.open.append(roar.Arena(1 << 20))
        self.words["PID"] = str(os.getpid())


class Coordinator(Page):
    def prepare(self):
        self.names["last"] = 99990

    def before(self, block):
        if "roar coordinator drain" in block.text:
            self.people_a_job()

    def people_a_job(self):
        for job, worker in (("default", "node-7"), ("big", "node-1"), ("old", None)):
            client = roar.TrainingOrchestrator(self.address, job=job)
            client.kv.set("run/id", b"17")
            if worker:
                client.register_worker(worker)
            self.open.append(client)


class WithJob(Page):
    """A coordinator runs, and this process is the worker of a job."""

    def prepare(self):
        self.serve(f"roar-coordinator --data-dir {self.folder}/coordinator "
                   f"--listen {self.address}", [])
        write_shards(self.project / "data")
        os.chdir(self.project)
        self.names.update(job=self.worker("w-0"), rank=0)

    def worker(self, name):
        job = roar.TrainingOrchestrator(self.address, job="training")
        self.open.append(job)
        if name:
            job.register_worker(name)
            roar.DatasetRegistry(job).register_dataset(
                "imagenet", 640, 160, path=str(self.project / "data" / "*.tar"))
        return job


class Readers(WithJob):
    def prepare(self):
        super().prepare()
        self.names["EPOCHS"] = 4
        write_tar("train-0000.tar", range(1000))
        with open("images.bin", "wb") as f:
            f.write(os.urandom(20 * 3072))

    def before(self, block):
        if "register_worker" in block.text:
            self.names["job"].deregister()  # the block registers the same worker
        if "shard.fill" in block.text:
            arena = roar.Arena(1 << 20)
            arena.join("both")
            self.names.update(
                arena=arena, numbers=[3, 1, 2],
                shard=roar.readers.open_shard("images.bin", record_bytes=3072))


class Shards(WithJob):
    replaced = {"10_000_000_000": "20_000", "< 90": "< 4", "/data/corpus": "data"}

    def before(self, block):
        if "register_worker" in block.text:  # the page's own worker of another job
            self.names["job"] = roar.TrainingOrchestrator(self.address, job="w")
        elif "coordinator=job" in block.text:
            self.names["job"].close()
            self.names["job"] = self.open[0]
        elif "roar shards audit" in block.text:
            self.write_audits()

    def write_audits(self):
        """Three worlds: the second begins 128 samples before the end of the first."""
        (self.project / "run").mkdir()
        state = {"epoch": 3, "consumed": 0}
        for world, (steps, kept) in enumerate(((20, 18), (30, 30), (None, None)), 1):
            order = roar.SampleOrder("corpus", 10000, batch_size=64, seed=42,
                                     audit=f"run/rank-{world}.audit",
                                     world_epoch=world)
            if world == 1:
                state = {**order.state_dict(), **state}
            order.load_state_dict(state)
            for n, _ in enumerate(order, 1):
                if n == kept:
                    state = order.state_dict()
                if n == steps:
                    break
            order.state_dict()
            del order


class PythonRecord(Page):
    def prepare(self):
        os.environ["ROAR_PROGRAM"] = os.environ["ROAR"]
        # The directories of tests are temporary ones.
        for words in (["init"], ["config", "set", "filters.ignore_tmp_files", "false"]):
            subprocess.run([os.environ["ROAR"], *words], cwd=self.project,
                           env=self.environment, check=True, stdout=subprocess.DEVNULL)


class Pipelines(Page):
    """Four steps; then a script changes and does the same as before."""

    def prepare(self):
        for name, text in (("prepare.py", 'open("data", "w").write(open("raw").read())'),
                           ("train.py", 'open("model", "w").write(open("data").read() * 2)'),
                           ("evaluate.py", 'open("score", "w").write(open("model").read())'),
                           ("plot.py", 'open("plot", "w").write(open("raw").read())'),
                           ("raw", "1")):
            (self.project / name).write_text(text)
        script = "roar init && " + " && ".join(
            f"roar run -q python3 {name}.py" for name in
            ("prepare", "train", "evaluate", "plot"))
        self.step(script + "; echo '# a comment' >>prepare.py", [], self.project)


PAGES = {"README.md": Readme, "docs/pipelines.md": Pipelines, "docs/arena.md": Arena,
         "docs/coordinator.md": Coordinator, "docs/readers.md": Readers,
         "docs/python-record.md": PythonRecord, "docs/shards.md": Shards}
