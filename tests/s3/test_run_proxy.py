"""`roar run --proxy` and `roar proxy`, with the verifying server behind them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import environment
from server import KEY_ID, SECRET, Server

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60
VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL")

# What the command of a run does: PUT and GET of this test's own client.
PROGRAM = """
import os, sys
from client import Request, send
END = os.environ["AWS_ENDPOINT_URL_S3"]
def put(key, body, **more):
    answer = send(END, Request("PUT", "/data/" + key, body, **more))
    assert answer.status == 200, answer
def get(key, span=None):
    fields = [("Range", "bytes=" + span)] if span else []
    answer = send(END, Request("GET", "/data/" + key, fields=fields))
    assert answer.status in (200, 206), answer
    return answer.body
"""


def until(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited for {what}")


class Project:
    """A project of roar whose commands have the server as their endpoint."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server
        self.env = {**environment(server.endpoint, folder),
                    "PYTHONPATH": str(HERE)}
        for name, value in os.environ.items():
            if name.endswith("SAN_OPTIONS") or name == "S3_CRC_LIBRARY":
                self.env[name] = value
        self("init", "-y")

    def start(self, *argv: str, **more: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [os.environ["ROAR"], *argv], cwd=self.folder, env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **more)

    def __call__(self, *argv: str, code: int = 0
                 ) -> "subprocess.CompletedProcess[str]":
        process = self.start(*argv)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, (argv, process.returncode, out, err)
        return subprocess.CompletedProcess(argv, code, out, err)

    def run(self, text: str, *options: str, code: int = 0
            ) -> "subprocess.CompletedProcess[str]":
        return self("run", "--proxy", *options, sys.executable, "-c",
                    PROGRAM + text, code=code)

    def show(self, ref: str) -> Any:
        return json.loads(self("show", ref, "--json").stdout)

    def objects(self, ref: str) -> dict[tuple[str, str], Any]:
        shown = self.show(ref)
        return {(row["role"], row["path"]): row
                for key in ("inputs", "outputs", "temporaries")
                for row in shown[key] if row["type"] == "object"}

    def gaps(self, ref: str) -> list[str]:
        return [gap["reason"] for gap in self.show(ref)["gaps"]]

    def left_over(self) -> list[str]:
        return sorted(os.listdir(self.folder / ".roar" / "runs"))

    def proxies(self) -> list[int]:
        """Processes of roar-proxy whose log or folder is in this project."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                argv = Path(f"/proc/{name}/cmdline").read_bytes()
                cwd = os.readlink(f"/proc/{name}/cwd")
            except OSError:
                continue
            if argv.startswith(b"roar-proxy\0") and (
                    str(self.folder).encode() in argv or
                    cwd.startswith(str(self.folder))):
                found.append(int(name))
        return found

    def blake3(self, name: str) -> str:
        return self("hash", name).stdout.split()[0]


@pytest.fixture
def project(server: Server, tmp_path: Path) -> Iterator[Project]:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    made = Project(tmp_path, server)
    yield made
    made("proxy", "stop")
    assert made.proxies() == []


# ---- one run ----

def test_objects_of_a_run_are_recorded(project: Project) -> None:
    content = b"x" * 3_000_000
    (project.folder / "local").write_bytes(content)
    done = project.run("body = open('local', 'rb').read()\n"
                       "put('up', body)\nassert get('up') == body\n"
                       "get('up', '0-9')\n")
    assert "3 requests through the S3 proxy" in done.stderr
    shown = project.show("@1")
    assert shown["verdict"] == "complete", shown["gaps"]
    assert shown["observation"]["environment"] == list(VARIABLES)
    row = project.objects("@1")["output", "s3://data/up"]
    assert row["intermediate"] and row["size_bytes"] == len(content)
    assert row["digests"]["blake3"] == project.blake3("local")
    assert row["object"]["endpoint"] == project.server.endpoint
    assert row["object"]["etag"] and row["object"]["operation"] == "put"
    # The process that sent it is a process of the run.
    pids = [p["pid"] for p in json.loads(
        project("show", "@1", "--all", "--json").stdout)["processes"]]
    assert row["object"]["pid"] in pids
    assert project.left_over() == [] and project.proxies() == []


def test_a_later_step_depends_on_the_object(project: Project) -> None:
    project.run("put('k', b'a' * 100)\n")
    project.run("open('copy', 'wb').write(get('k'))\n")
    project.run("get('k', '10-19')  # a part\n")
    nodes = json.loads(project("dag", "--json").stdout)["nodes"]
    assert {n["step_ref"]: n["dependency_refs"] for n in nodes} == {
        "@1": [], "@2": ["@1"], "@3": ["@1"]}
    row = project.objects("@3")["input", "s3://data/k"]
    assert row["object"]["ranges"] == "10-19"
    assert row["digests"]["blake3"] == project.blake3("copy")


@pytest.mark.parametrize("tracer", ["ptrace", "hybrid", "preload"])
def test_the_proxy_is_not_a_part_of_the_run(project: Project,
                                            tracer: str) -> None:
    project.run("put('k', b'abc')\n", "--tracer", tracer)
    shown = json.loads(project("show", "@1", "--all", "--json").stdout)
    assert shown["tracer"] == tracer
    assert {gap["reason"] for gap in shown["gaps"]} <= {"library"}
    assert not [p for p in shown["processes"] if "roar-proxy" in p["command"]]
    paths = [row["path"] for key in ("inputs", "outputs") for row in shown[key]]
    assert not [path for path in paths if path.endswith(".objects")
                and "/.roar/" not in path]


def test_the_environment_is_as_before_without_the_option(
        project: Project) -> None:
    names = "import os; print({k: v for k, v in os.environ.items() " \
            "if 'ENDPOINT' in k})"
    done = project("run", "-q", sys.executable, "-c", names)
    assert done.stdout == f"{{'AWS_ENDPOINT_URL': '{project.server.endpoint}'}}\n"
    assert project.show("@1")["observation"]["environment"] == []
    project("config", "set", "proxy.enabled", "true")
    done = project("run", "-q", sys.executable, "-c", names + " # 2")
    assert sorted(eval(done.stdout)) == sorted(VARIABLES)  # noqa: S307
    done = project("run", "-q", "--no-proxy", sys.executable, "-c",
                   names + " # 3")
    assert project.server.endpoint in done.stdout


def test_a_run_without_requests_says_which_clients_do_not_ask(
        project: Project) -> None:
    done = project("run", "--proxy", "true")
    assert "no request reached the S3 proxy" in done.stderr
    assert project.show("@1")["verdict"] == "complete"


def test_content_is_not_hashed_where_that_was_refused(project: Project) -> None:
    project("config", "set", "proxy.hash", "false")
    project.run("put('k', b'abc')\n")
    row = project.objects("@1")["output", "s3://data/k"]
    assert row["digests"] is None and row["object"]["etag"]
    assert project.show("@1")["verdict"] == "complete"


def test_a_step_that_is_run_again_has_its_proxy(project: Project) -> None:
    project.run("put('k', os.urandom(9))\n")
    project("run", "@1")
    repeated = project.objects("@1.2")["output", "s3://data/k"]
    assert repeated["digests"] != \
        project.objects("@1.1")["output", "s3://data/k"]["digests"]
    assert project.show("@1.2")["observation"]["environment"] == list(VARIABLES)
    # PROGRAM asks for the variable that only the proxy sets.
    project("run", "--no-proxy", "@1", code=1)
    project("run", "@1.1")
    assert ("output", "s3://data/k") in project.objects("@1.4")
    # A step without the proxy gets none.
    project("run", "true")
    project("run", "@2")
    assert project.show("@2.2")["observation"]["environment"] == []


# ---- the command is sacred ----

def test_a_command_runs_without_a_proxy_that_cannot_start(
        project: Project, tmp_path: Path) -> None:
    done = project("run", "--proxy-upstream", "nonsense://", "sh", "-c",
                   "env | grep ENDPOINT; exit 3", code=3)
    assert project.server.endpoint in done.stdout
    assert "runs without the S3 proxy" in done.stderr
    assert project.gaps("@1") == ["proxy"]
    assert project.left_over() == []


def test_a_password_of_an_endpoint_is_not_recorded(project: Project) -> None:
    for url in ("http://u:pa55word@127.0.0.1:9", "ftp://u:pa55word@h"):
        done = project("run", "--proxy-upstream", url, "true")
        assert "runs without the S3 proxy" in done.stderr
        assert "pa55word" not in done.stderr
    for path in (project.folder / ".roar").rglob("*"):
        if path.is_file():
            assert b"pa55word" not in path.read_bytes(), path


def test_a_proxy_that_is_killed_makes_the_record_incomplete(
        project: Project) -> None:
    project.run("put('before', b'abc')\n"
                "import signal, time\n"
                "for name in os.listdir('/proc'):\n"
                "    if name.isdigit() and int(name) != os.getpid():\n"
                "        try:\n"
                "            text = open(f'/proc/{name}/cmdline', 'rb').read()\n"
                "        except OSError:\n"
                "            continue\n"
                "        if text.startswith(b'roar-proxy\\0') and "
                "os.getcwd().encode() in text:\n"
                "            os.kill(int(name), signal.SIGKILL)\n")
    assert project.gaps("@1") == ["proxy"]
    assert ("output", "s3://data/before") in project.objects("@1")
    assert project.left_over() == []


def test_ctrl_c_ends_the_command_and_not_the_proxy(project: Project) -> None:
    run = project.start("run", "-q", "--proxy", sys.executable, "-c", PROGRAM +
                        "import signal, time\nhits = []\n"
                        "def hit(*_):\n"
                        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                        "    hits.append(1)\n"
                        "signal.signal(signal.SIGINT, hit)\n"
                        "open('ready', 'w').close()\n"
                        "while not hits: time.sleep(0.02)\n"
                        "put('last', b'abc')\nsys.exit(7)\n",
                        start_new_session=True)
    until((project.folder / "ready").exists, "the command")
    # The command may get it twice: from here, and later passed on by roar.
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 7
    assert ("output", "s3://data/last") in project.objects("@1")
    assert project.gaps("@1") == []


def test_a_tracer_that_is_killed_leaves_the_proxy_to_the_command(
        project: Project) -> None:
    run = project.start("run", "-q", "--proxy", "--tracer", "preload",
                        sys.executable, "-c", PROGRAM +
                        "import time\nopen('ready', 'w').close()\n"
                        "while not os.path.exists('go'): time.sleep(0.02)\n"
                        "put('late', b'abc')\n")
    until((project.folder / "ready").exists, "the command")
    for name in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(
            ).split():
        if Path(f"/proc/{name}/comm").read_text() == "roar\n":
            os.kill(int(name), signal.SIGKILL)
    (project.folder / "go").touch()
    run.communicate(timeout=PATIENCE_S)
    until(lambda: not project.proxies(), "the end of the proxy")
    assert ("output", "s3://data/late") in project.objects("@1")
    assert "interrupted" in project.gaps("@1")
    assert project.left_over() == []


def test_the_proxy_ends_with_roar(project: Project) -> None:
    run = project.start("run", "-q", "--proxy", "--tracer", "ptrace", "sh",
                        "-c", "touch ready; sleep 60")
    until((project.folder / "ready").exists, "the command")
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text()
    for name in [str(run.pid), *children.split()]:
        if Path(f"/proc/{name}/comm").read_text() == "roar\n":
            os.kill(int(name), signal.SIGKILL)
    run.communicate(timeout=PATIENCE_S)
    until(lambda: not project.proxies(), "the end of the proxy")


def test_the_proxy_holds_no_pipe_of_the_command(project: Project) -> None:
    """Who reads the command's output gets its end at once."""
    run = project.start("run", "-q", "--proxy", "sh", "-c",
                        "exec >&- 2>&-; touch ready; sleep 60")
    assert run.stdout
    until((project.folder / "ready").exists, "the command")
    assert run.stdout.read() == ""
    assert run.poll() is None
    run.terminate()
    run.communicate(timeout=PATIENCE_S)


# ---- a full disk ----

class SmallProject(Project):
    """Its records are on a disk of their own, which only its commands see."""

    SIZE = "4m"

    def __init__(self, folder: Path, server: Server) -> None:
        (folder / ".roar").mkdir()
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount -t tmpfs -o size={self.SIZE} none .roar && echo && read x"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout
        if not self.holder.stdout.readline():
            self.holder.wait(PATIENCE_S)
            pytest.skip("no mount namespaces here")
        super().__init__(folder, server)

    def start(self, *argv: str, **more: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["nsenter", "-t", str(self.holder.pid), "--mount", "sh", "-c",
             'cd "$0" && exec "$@"', str(self.folder), os.environ["ROAR"],
             *argv], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def in_place(self, name: str) -> Path:
        """A file of the small disk, as this process sees it."""
        return Path(f"/proc/{self.holder.pid}/root{self.folder}/.roar/{name}")

    def close(self) -> None:
        assert self.holder.stdin and self.holder.stdout
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.holder.wait(PATIENCE_S)


@pytest.fixture
def small_project(server: Server, tmp_path: Path) -> Iterator[SmallProject]:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    if os.geteuid() != 0 or not shutil.which("nsenter"):
        pytest.skip("a full disk of its own needs root and nsenter")
    made = SmallProject(tmp_path, server)
    yield made
    made.close()


# The disk gets full after the first object.  The others fill a page of the log.
FILL = """
put('before', b'abc')
import contextlib
with contextlib.suppress(OSError), open('.roar/filler', 'wb', 0) as filler:
    while True:
        filler.write(b'x' * 65536)
with contextlib.suppress(OSError), open('.roar/filler', 'ab', 0) as filler:
    while True:
        filler.write(b'x')
body = os.urandom(100_000)
for i in range(60):
    put('x' * 200 + str(i), body)
    assert get('x' * 200 + str(i)) == body
"""


def has_all(project: Project) -> bool:
    return len(project.server.buckets["data"].versions) == 61


def test_a_disk_that_is_full_for_a_while(small_project: SmallProject) -> None:
    """Every request is served; the record says that it does not have all."""
    project = small_project
    done = project.run(FILL + "os.unlink('.roar/filler')\n")
    assert "incomplete" in done.stderr and has_all(project)
    assert project.show("@1")["verdict"] == "incomplete"
    assert "proxy" in project.gaps("@1")
    assert ("output", "s3://data/before") in project.objects("@1")
    assert ("output", "s3://data/" + "x" * 200 + "59") not in \
        project.objects("@1")


def test_a_disk_that_stays_full(small_project: SmallProject) -> None:
    """The command succeeds; its record is completed when there is room."""
    project = small_project
    done = project.run(FILL)
    assert "could not be recorded" in done.stderr and has_all(project)
    project.in_place("filler").unlink()
    assert project.show("@1")["verdict"] == "incomplete"
    assert "proxy" in project.gaps("@1")
    assert ("output", "s3://data/before") in project.objects("@1")


# ---- the daemon ----

def status(project: Project, code: int = 0) -> Any:
    return json.loads(project("proxy", "status", "--json", code=code).stdout)


def test_a_daemon_serves_several_runs_one_by_one(project: Project) -> None:
    assert status(project, 1)["running"] is False
    project("proxy", "start")
    found = status(project)
    assert found["running"] and found["upstream"] == project.server.endpoint
    assert found["endpoint"].startswith("http://127.0.0.1:")
    assert isinstance(found["counters"], dict)
    for i in (1, 2):
        project.run(f"put('k{i}', b'abc')\n")
        assert set(project.objects(f"@{i}")) == {
            ("output", f"s3://data/k{i}")}
        assert project.gaps(f"@{i}") == []
    assert project.proxies() == [found["pid"]]
    # Once more is no mistake; with other options it is.
    project("proxy", "start")
    project("proxy", "start", "--region", "eu-west-1", code=1)
    assert status(project)["pid"] == found["pid"]
    project("proxy", "stop")
    assert project.proxies() == []
    assert status(project, 1)["running"] is False


def test_runs_at_the_same_time_get_their_own_objects(project: Project) -> None:
    project("proxy", "start")
    runs = [project.start("run", "-q", "--proxy", sys.executable, "-c",
                          PROGRAM + f"for i in range(20): put(f'{r}-{{i}}', "
                          "b'abc')\n") for r in range(3)]
    for run in runs:
        run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0
    for step in (1, 2, 3):
        keys = [path.rpartition("/")[2] for _, path in
                project.objects(f"@{step}")]
        assert len(keys) == 20
        assert len({key.partition("-")[0] for key in keys}) == 1


def test_a_daemon_may_listen_at_a_unix_socket(project: Project,
                                              tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    done = project("proxy", "start", "--listen", address)
    assert f"The proxy is running: {address}, pid" in done.stdout
    project.run("put('k', b'1')\n")
    assert project.show("@1")["verdict"] == "complete"


def test_a_daemon_that_is_stopped_ends(project: Project) -> None:
    project("proxy", "start")
    pid, = project.proxies()
    os.kill(pid, signal.SIGSTOP)
    project("proxy", "stop")
    project("proxy", "status", code=1)


def test_a_region_must_be_one(project: Project) -> None:
    done = project("proxy", "start", "--region", "bad region", code=1)
    assert "'bad region' is not the name of a region" in done.stderr


def test_a_daemon_that_was_killed_is_noticed(project: Project) -> None:
    project("proxy", "start")
    os.kill(status(project)["pid"], signal.SIGKILL)
    until(lambda: not project.proxies(), "its end")
    assert (project.folder / ".roar" / "proxy.json").exists()
    assert status(project, 1)["running"] is False
    assert not (project.folder / ".roar" / "proxy.json").exists()
    project.run("put('k', b'abc')\n")
    assert project.gaps("@1") == []
    project("proxy", "start")
    assert status(project)["running"]


def test_a_daemon_killed_during_a_run_makes_it_incomplete(
        project: Project) -> None:
    project("proxy", "start")
    pid = status(project)["pid"]
    project.run(f"put('k', b'abc')\nos.kill({pid}, 9)\n")
    assert project.gaps("@1") == ["proxy"]
    assert project.left_over() == []


def test_a_run_with_another_endpoint_has_a_proxy_of_its_own(
        project: Project) -> None:
    other = Server()
    other.add_bucket("data")
    try:
        project("proxy", "start")
        project.env["AWS_ENDPOINT_URL"] = other.endpoint
        project.run("put('k', b'abc')\n")
        row = project.objects("@1")["output", "s3://data/k"]
        assert row["object"]["endpoint"] == other.endpoint
    finally:
        other.stop()


def test_the_files_of_a_daemon_are_private_and_have_no_secret(
        project: Project) -> None:
    project("proxy", "start")
    project.run("put('k', b'abc')\n")
    for name in ("proxy.json", "proxy.sock", "proxy.log"):
        path = project.folder / ".roar" / name
        assert path.stat().st_mode & 0o077 == 0, name
        if name != "proxy.sock":
            assert SECRET not in path.read_text()
    with open(project.folder / ".roar" / "roar.db", "rb") as base:
        data = base.read()
    assert SECRET.encode() not in data and KEY_ID.encode() not in data


def test_a_project_may_have_a_long_name(server: Server,
                                        tmp_path: Path) -> None:
    """Longer than the address of a Unix socket."""
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    project = Project(folder, server)
    project("proxy", "start")
    project.run("put('k', b'abc')\n")
    assert ("output", "s3://data/k") in project.objects("@1")
    assert "The proxy is not running" in project("proxy", "stop").stdout
