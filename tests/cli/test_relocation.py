"""An installation that was moved finds its own files, not those of the build."""

import http.client
import os
import shutil
import subprocess
import tempfile

import pytest

from helpers import make_place

BUILD = os.environ.get("BUILD_ROOT", "")


@pytest.fixture(scope="module")
def moved():
    """The prefix of an installation, moved to another directory."""
    if not BUILD or not os.access(os.path.join(BUILD, "meson-logs"), os.W_OK):
        pytest.skip("meson install needs a build directory that is writable")
    top = tempfile.mkdtemp(prefix="roar-moved-")
    os.chmod(top, 0o755)
    staged = os.path.join(top, "staged")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                    "--destdir", staged], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)
    found = [folder for folder, _, names in os.walk(staged)
             if os.path.basename(folder) == "bin" and "roar" in names]
    prefix = os.path.join(top, "elsewhere")
    os.rename(os.path.dirname(found[0]), prefix)
    shutil.rmtree(staged)
    yield prefix
    shutil.rmtree(top)


@pytest.fixture
def place(moved):
    place = make_place(os.path.join(moved, "bin", "roar"))
    yield place
    place.remove()


def test_a_run_loads_the_library_of_its_own_installation(place, moved):
    done = place("run", "-q", "--tracer", "hybrid", "cat", "/proc/self/maps")
    libraries = {line.split()[-1] for line in done.out.splitlines()
                 if "libroar-preload" in line}
    assert len(libraries) == 1, done.out
    assert libraries.pop().startswith(moved + "/lib")
    job = place.json("show", "@1", "--json")
    assert job["tracer"] == "hybrid"
    hybrid = next(t for t in place.json("tracer", "--json")["tracers"]
                  if t["name"] == "hybrid")
    assert hybrid["ready"] and "libroar-preload" not in (hybrid["note"] or "")


def test_a_symbolic_link_to_the_program_leads_to_its_installation(place,
                                                                  moved):
    link = place.path("linked-roar")
    os.symlink(os.path.join(moved, "bin", "roar"), link)
    done = subprocess.run([link, "run", "-q", "cat", "/proc/self/maps"],
                          cwd=place.path(), env=place.environment(),
                          capture_output=True, text=True, check=True,
                          timeout=60)
    assert f"{moved}/lib" in done.stdout


@pytest.mark.skipif("ROARD" not in os.environ, reason="built without eBPF")
def test_the_daemon_of_the_same_installation_is_used(place, moved):
    done = place("tracer", "enable", "ebpf", "--pin", code=1)
    assert f"{moved}/sbin/roard" in done.out + done.err


@pytest.mark.skipif("COORDINATOR" not in os.environ,
                    reason="built without the coordinator")
def test_a_moved_coordinator_serves_its_page(place, moved):
    program = os.path.join(moved, "bin", "roar-coordinator")
    server = subprocess.Popen(
        [program, "--data-dir", place.path("data"),
         "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().split()[-1]
        client = http.client.HTTPConnection(
            address.removeprefix("http://"), timeout=30)
        client.request("GET", "/healthz")
        reply = client.getresponse()
        assert reply.status == 200
        reply.read()
        client.request("GET", "/")
        page = client.getresponse()
        # Without npm the build has no dashboard; the server answers so.
        assert page.status in (200, 404)
        text = page.read()
        assert page.status == 404 or b"<html" in text
    finally:
        server.terminate()
        assert server.wait(30) == 0
        server.stdout.close()
