"""The package as users get it."""

import ast
import compileall
import importlib.util
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import _roar
import _roar_hash
import _roar_reader
import _roar_shard
import roar

ROOT = pathlib.Path(__file__).resolve().parents[2]

BARE = """
import sys
sys.modules["numpy"] = None
sys.modules["torch"] = None
import roar
for copy in (True, False):
    with roar.Arena(1 << 20, copy=copy) as arena:
        arena.join("both")
        memory = arena.empty(5000)
        memory[:] = b"m" * 5000
        arena.send({"a": b"x" * 9000, "b": [1, None], "c": memory})
        item = arena.receive(timeout=5)
        assert item["a"] == b"x" * 9000 and item["b"] == [1, None]
        assert item["c"] == b"m" * 5000
        assert roar.collate_into(arena)([{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
print("moved")
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=290, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_it_works_without_numpy_and_torch():
    done = run(sys.executable, "-c", BARE)
    assert (done.stdout, done.stderr) == ("moved\n", "")


def test_importing_it_imports_neither():
    done = run(sys.executable, "-c",
               "import roar, sys; print({'numpy', 'torch'} & set(sys.modules))")
    assert done.stdout == "set()\n"


def test_all_names_are_there_and_documented():
    absent = set()
    if "COORDINATOR" not in os.environ:  # this build has no protobuf-c
        absent.add("TrainingOrchestrator")
    for name in {*roar.__all__, "hash"} - absent:
        assert getattr(roar, name).__doc__, name
    with pytest.raises(AttributeError):
        roar.nonsense


MODULES = {"coordinator": "COORDINATOR", "dataset": None, "media": "CLIP",
           "order": None, "pipeline": None, "readers": None}


@pytest.mark.parametrize("name", MODULES)
def test_importing_roar_is_enough_for_its_modules(name):
    if MODULES[name] and MODULES[name] not in os.environ:
        pytest.skip(f"this build has no roar.{name}")
    run(sys.executable, "-c",
        "import roar, sys\n"
        f"assert 'roar.{name}' not in sys.modules\n"
        f"assert roar.{name}.__all__\n")


def test_dir_has_all_public_names():
    public = {name for name in dir(roar) if not name.startswith("_")}
    assert public == {*roar.__all__, *MODULES, "DataLoader", "hash"}


def test_a_star_import_needs_no_torch():
    if "COORDINATOR" not in os.environ:
        pytest.skip("this build has no roar.coordinator")
    run(sys.executable, "-c", "import sys; sys.modules['torch'] = None\n"
        "from roar import *\n"
        "assert Arena and shards and hash is __builtins__.hash")


def test_importing_it_takes_20_ms_at_most(tmp_path):
    """As installed, with compiled modules.  CPU time, since others run beside us."""
    shutil.copytree(ROOT / "python" / "roar", tmp_path / "roar")
    compileall.compile_dir(tmp_path / "roar", quiet=1)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    times = [float(run(
        sys.executable, "-c", "import time; begin = time.process_time()\n"
        "import roar; print(time.process_time() - begin)",
        env={**os.environ, "PYTHONPATH": path}).stdout) for _ in range(7)]
    assert min(times) <= 0.020, times


@pytest.mark.parametrize("module", [_roar, _roar_hash, _roar_reader,
                                    _roar_shard])
def test_the_stub_names_what_there_is(module):
    stub = ast.parse((ROOT / "python" / f"{module.__name__}.pyi").read_text())
    names = {node.target.id for node in stub.body
             if isinstance(node, ast.AnnAssign)}
    for node in stub.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        names.add(node.name)
        thing = getattr(module, node.name)
        wanted = {n.name for n in getattr(node, "body", [])
                  if isinstance(n, ast.FunctionDef)}
        if inspect.isclass(thing):
            assert wanted - {"__buffer__"} <= set(dir(thing))
    assert names == {n for n in vars(module) if not n.startswith("__")}


def test_the_inner_types_cannot_be_made():
    for kind in (_roar.Handle, _roar.View, _roar_reader.Buffer,
                 _roar_reader.Reader, _roar_reader.Stream):
        with pytest.raises(TypeError):
            kind()


def test_it_uses_the_limited_api_alone():
    assert _roar.__file__.endswith(".abi3.so")
    assert _roar_hash.__file__.endswith(".abi3.so")
    assert _roar_reader.__file__.endswith(".abi3.so")
    assert _roar_shard.__file__.endswith(".abi3.so")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy to build in: what one test has compiled, the next one finds."""
    to = tmp_path_factory.mktemp("sources")
    for part in ("python", "lib/arena", "lib/base", "lib/coord", "lib/hash",
                 "lib/media", "lib/net", "lib/reader", "lib/shard", "include"):
        shutil.copytree(ROOT / part, to / part, ignore=shutil.ignore_patterns(
            "build", "__pycache__", "*.egg-info"))
    return to / "python"


def for_builds(sources):
    """The environment without a sanitizer, whose library may be preloaded here.  What
    is compiled runs for a moment only, and an earlier run may have compiled it."""
    kept = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if shutil.which("ccache"):
        kept |= {"CC": "ccache " + sysconfig.get_config_var("CC").split()[0],
                 "CCACHE_NOHASHDIR": "1", "CCACHE_BASEDIR": str(sources.parent)}
    return {**kept, "CFLAGS": "-O0 -g0"}


HASHES = """
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
from roar.readers import open_shard
assert len(open_shard(sys.argv[1], record_bytes=100,
                      blake3=found["blake3"])) == 50000
assert sorted(sum(roar.SampleOrder("d", 100), [])) == list(range(100))
"""


def test_pip_installs_it(sources, tmp_path):
    for needed in ("pip", "setuptools", "wheel"):
        if not importlib.util.find_spec(needed):
            pytest.skip(f"needs {needed}")
    environment = for_builds(sources)
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
        "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
        "--target", tmp_path / "site", sources,
        env=environment)
    names = set(os.listdir(tmp_path / "site"))
    assert {"_roar.abi3.so", "_roar-stubs", "_roar_hash.abi3.so",
            "_roar_hash-stubs", "_roar_reader.abi3.so", "_roar_reader-stubs",
            "_roar_shard.abi3.so", "_roar_shard-stubs", "roar"} <= names
    assert os.listdir(tmp_path / "site" / "_roar-stubs") == ["__init__.pyi"]
    assert (tmp_path / "site" / "roar" / "py.typed").exists()
    environment["PYTHONPATH"] = str(tmp_path / "site")
    done = run(sys.executable, "-c",
               BARE + "print(roar.__file__)", env=environment)
    assert str(tmp_path) in done.stdout
    run(sys.executable, "-c", HASHES, tmp_path / "file", env=environment)
    if "CLIP" in os.environ:  # this build has FFmpeg
        assert {"_roar_media.abi3.so", "_roar_media-stubs"} <= names
        run(sys.executable, "-c", "import roar.media", env=environment)
    if "COORDINATOR" in os.environ:  # this build has protobuf-c
        assert {"_roar_coord.abi3.so", "_roar_coord-stubs"} <= names
        run(sys.executable, "-c", "import roar.coordinator", env=environment)


WHAT_IS_BUILT = """
import runpy, setuptools
setuptools.setup = lambda ext_modules, **_: print(*[e.name for e in ext_modules])
runpy.run_path("setup.py")
"""


def test_what_a_library_is_missing_for_is_left_out():
    if not importlib.util.find_spec("wheel"):
        pytest.skip("needs wheel")
    for path, built in ((os.environ["PATH"], ["_roar", "_roar_shard",
                                               "_roar_hash", "_roar_reader"]),
                        ("/nonexistent", ["_roar", "_roar_shard"])):
        done = run(sys.executable, "-c", WHAT_IS_BUILT, cwd=ROOT / "python",
                   env={**os.environ, "PATH": path})
        assert done.stdout.split()[:4] == built


def test_it_can_be_built_in_place(sources):
    if not importlib.util.find_spec("wheel"):
        pytest.skip("needs wheel")
    run(sys.executable, "setup.py", "--quiet", "build_ext", "--inplace",
        "--parallel", "2", cwd=sources, env=for_builds(sources))
    names = set(os.listdir(sources))
    assert {"_roar.abi3.so", "_roar.pyi", "_roar_hash.abi3.so"} <= names
    assert "_roar-stubs" not in names


TYPED = """
from roar.pipeline import PipelineBuilder, iterate_in_subprocess
config = PipelineBuilder().add_source(range(3)).aggregate(2).add_sink().get_config()
number: str = next(iter(iterate_in_subprocess(lambda: [1])))
import roar
text: str = roar.hash(b"")
table: dict[str, str] = roar.hash_file("x", ["md5"])
names: list[str] = [f.path + f.digest for f in roar.hash_files(["x"])]
wrong: str = roar.hash(memoryview(b""), ("md5",))
"""


def test_type_checkers_need_no_help(tmp_path):
    if not importlib.util.find_spec("mypy"):
        pytest.skip("needs mypy")
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    settings = tmp_path / "mypy.ini"  # torch is large
    settings.write_text("[mypy]\nfollow_imports = silent\n"
                        "[mypy-torch.*,numpy.*]\nfollow_imports = skip\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache",
         "--config-file", settings, program],
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True, text=True, timeout=110, check=False)
    errors = [x for x in done.stdout.splitlines() if " error: " in x]
    assert [":4: error: Incompatible types" in errors[0],
            ":9: error: Incompatible types" in errors[1]] == [True, True]
    assert len(errors) == 2
