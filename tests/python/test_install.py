"""`pip install ./python`, in fresh virtual environments and without a network.

`make stress` installs for every Python that is found (INSTALL_EVERYWHERE); the suite
`python` for the newest, without build isolation."""

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARE = pathlib.Path(__file__).parent / "bare_program.py"
EVERYWHERE = "INSTALL_EVERYWHERE" in os.environ
VERSIONS = ("3.11", "3.12", "3.13")
TOO_OLD = ("3.10", "3.9", "3.8", "3.7")

USES = """
import sys
import roar
with open("/proc/self/maps") as f:
    assert "libcrypto" not in f.read()
assert roar.hash(b"abc", "md5") == "900150983cd24fb0d6963f7d28e17f72"
with open(sys.argv[1], "wb") as f:
    f.write(bytes(5000000))
names = ("blake3", "sha256", "sha512", "md5", "crc64nvme", "git-blob")
found = roar.hash_file(sys.argv[1], names)
assert found == roar.hash(bytes(5000000), names)
assert roar.hash_file(sys.argv[1]) == found["blake3"]
assert len(roar.readers.open_shard(sys.argv[1], record_bytes=100,
                                   blake3=found["blake3"])) == 50000
assert sorted(sum(roar.SampleOrder("d", 100), [])) == list(range(100))
roar.checkpoint.save({"a": b"raw", "n": 3}, sys.argv[1] + ".checkpoints", 1)
assert roar.checkpoint.load(sys.argv[1] + ".checkpoints") == {"a": b"raw", "n": 3}
if "media" not in sys.argv[2:]:
    assert roar.media.demux_video
if "coordinator" not in sys.argv[2:]:
    assert roar.TrainingOrchestrator
try:
    roar.readers.open_shard("s3://bucket", "tar")
except roar.readers.ShardError as error:
    assert ("name an object" in str(error)) == ("s3" not in sys.argv[2:])
print(roar.__file__)
"""


def call(*command, **options):
    return subprocess.run(command, capture_output=True, text=True,
                          timeout=290, check=False, **options)


def run(*command, **options):
    done = call(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


# ---- interpreters and environments ----

def candidates(version):
    yield shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin:/bin")
    home = os.path.expanduser("~")
    yield from sorted(glob.glob(f"{home}/.pyenv/versions/{version}.*/bin/python3"))
    yield shutil.which(f"python{version}")


def interpreter(version):
    """One of that version which has pip and its headers, or None."""
    for path in filter(None, candidates(version)):
        done = call(path, "-c", "import os, pip, sysconfig, venv\n"
                    "assert os.path.exists(sysconfig.get_path('include') + '/Python.h')")
        if done.returncode == 0:
            return path
    return None


FOUND = {version: interpreter(version) for version in VERSIONS}
NEWEST = next((v for v in reversed(VERSIONS) if FOUND[v]), None)


def without():
    """The parts that this build has no libraries for."""
    return [part for part, name in (("coordinator", "COORDINATOR"),
                                    ("media", "CLIP"),
                                    ("s3", "ROAR_S3")) if name not in os.environ]


def for_builds(**more):
    """The environment without this build's modules and a preloaded sanitizer.  What
    is compiled runs for a moment only, and an earlier run may have compiled it."""
    kept = {k: v for k, v in os.environ.items()
            if k not in ("LD_PRELOAD", "PYTHONPATH", "PIP_FIND_LINKS")}
    if shutil.which("ccache"):
        kept |= {"CC": "ccache " + sysconfig.get_config_var("CC").split()[0],
                 "CCACHE_NOHASHDIR": "1", "CCACHE_BASEDIR": str(ROOT)}
    return {**kept, "CFLAGS": "-O0 -g0", "PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1",
            "ROAR_WITHOUT": ",".join(without()), **more}


def fresh_environment(folder, version):
    """The Python of a new virtual environment.  It has no pip of its own: to install
    one takes longer than to install roar."""
    if not FOUND[version]:
        pytest.skip(f"needs Python {version} with pip, venv and its headers")
    run(FOUND[version], "-m", "venv", "--without-pip", folder)
    return str(folder / "bin" / "python")


def pip(version, python, *arguments):
    """Runs the pip of that version by the Python of an environment."""
    return run(FOUND[version], "-m", "pip", "--python", python, *arguments,
               env=for_builds())


def files_of_checkout():
    done = run("git", "status", "--porcelain", "--ignored", "python", cwd=ROOT)
    return done.stdout


# ---- the tests ----

WAYS = ["install", "install --no-build-isolation",
        "install --no-build-isolation --editable"]


@pytest.mark.parametrize("way", WAYS[:2] if EVERYWHERE else WAYS[1:2])
@pytest.mark.parametrize("version",
                         VERSIONS if EVERYWHERE else [NEWEST or VERSIONS[-1]])
def test_pip_installs_it(version, way, tmp_path):
    before = files_of_checkout()
    python = fresh_environment(tmp_path / "venv", version)
    pip(version, python, *way.split(), ROOT / "python")
    done = run(python, "-c", USES, tmp_path / "file", *without(), cwd=tmp_path,
               env=for_builds())
    assert str(tmp_path) in done.stdout
    assert run(python, BARE, cwd=tmp_path, env=for_builds()).stdout == "moved\n"
    site = pathlib.Path(done.stdout.strip()).parents[1]
    names = set(os.listdir(site))
    for module in ("_roar_arena", "_roar_hash", "_roar_reader", "_roar_shard"):
        assert {f"{module}.abi3.so", f"{module}-stubs"} <= names
    assert os.listdir(site / "_roar_arena-stubs") == ["__init__.pyi"]
    assert (site / "roar" / "py.typed").exists()
    assert files_of_checkout() == before
    pip(version, python, "uninstall", "--yes", "roar")
    assert not list(site.glob("*roar*"))


@pytest.mark.parametrize("way", WAYS[2:])
@pytest.mark.skipif(not EVERYWHERE, reason="`make stress` does it")
def test_an_editable_install_uses_the_checkout(way, tmp_path):
    version = NEWEST or VERSIONS[-1]
    python = fresh_environment(tmp_path / "venv", version)
    pip(version, python, *way.split(), ROOT / "python")
    done = run(python, "-c", USES, tmp_path / "file", *without(), cwd=tmp_path,
               env=for_builds())
    assert done.stdout == f"{ROOT}/python/roar/__init__.py\n"


REFUSES = """#!/bin/sh
case " $* " in *" libavcodec"*|*" libcrypto "*) exit 1 ;; esac
exec /usr/bin/pkg-config "$@"
"""
BUILDS = """
import sys
sys.path.insert(0, sys.argv[1])
import extensions
try:
    print(*[extension.name for extension in extensions.extensions()])
except extensions.Missing as error:
    sys.exit(str(error))
"""


@pytest.fixture
def poor(tmp_path):
    """A PATH on which two libraries are not found."""
    (tmp_path / "pkg-config").write_text(REFUSES)
    (tmp_path / "pkg-config").chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def test_a_missing_library_is_one_sentence_with_its_package(poor, tmp_path):
    done = call(sys.executable, "-m", "pip", "install", "--no-build-isolation",
                "--target", tmp_path / "site", ROOT / "python",
                env=for_builds(PATH=poor, ROAR_WITHOUT="coordinator,s3"))
    assert done.returncode == 1
    assert ("roar: roar cannot be built without OpenSSL, FFmpeg 5.1 (for roar.media): "
            "on Debian, run 'apt-get install libssl-dev libavformat-dev "
            "libavcodec-dev libavutil-dev libswscale-dev'." in done.stderr)
    assert "Traceback" not in done.stderr


def test_an_older_python_is_one_sentence(tmp_path):
    version, python = next(((v, p) for v in TOO_OLD if (p := interpreter(v))),
                           (None, None))
    if not python:
        pytest.skip(f"needs one of Python {', '.join(TOO_OLD)} with pip, venv and its "
                    "headers")
    done = call(python, "-m", "pip", "install", "--no-build-isolation",
                "--target", tmp_path / "site", ROOT / "python", env=for_builds())
    assert done.returncode == 1
    assert (f"roar: roar needs Python 3.11 or later; this is {version}.\n"
            in done.stdout + done.stderr)
    assert "Traceback" not in done.stdout + done.stderr


def test_the_backend_looks_at_the_version_before_anything_newer():
    """As above, for machines that have no such Python."""
    done = call(sys.executable, "-c", "import sys\n"
                "sys.path.insert(0, sys.argv[1])\n"
                "sys.modules['tomllib'] = sys.modules['extensions'] = None\n"
                "sys.version_info = (3, 10, 13, 'final', 0)\n"
                "import roar_build", ROOT / "python" / "backend")
    assert (done.returncode, done.stderr) == \
        (1, "roar: roar needs Python 3.11 or later; this is 3.10.\n")


@pytest.mark.parametrize("wish, code, said", [
    ("media,coordinator,s3", 0,
     "_roar_arena _roar_shard _roar_hash _roar_reader _roar_ckpt"),
    ("coordinator,s3", 1, "or build without by ROAR_WITHOUT=media."),
    ("hash", 1, "ROAR_WITHOUT names 'hash', which is not one of coordinator, media, "
     "s3."),
])
def test_a_part_is_left_out_when_it_is_not_wanted(poor, wish, code, said, tmp_path):
    script = (tmp_path / "pkg-config")
    script.write_text(REFUSES.replace('|*" libcrypto "*', ""))
    done = call(sys.executable, "-c", BUILDS, ROOT / "python" / "backend",
                env=for_builds(PATH=poor, ROAR_WITHOUT=wish))
    assert done.returncode == code
    assert (done.stdout + done.stderr).strip().endswith(said)
