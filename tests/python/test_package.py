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

import pytest

import _roar_arena
import _roar_ckpt
import _roar_hash
import _roar_reader
import _roar_shard
import roar

ROOT = pathlib.Path(__file__).resolve().parents[2]

BARE = (pathlib.Path(__file__).parent / "bare_program.py").read_text()


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


MODULES = {"checkpoint": None, "coordinator": "COORDINATOR", "dataset": None, "media": "CLIP",
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
    assert public == {*roar.__all__, *MODULES, "DataLoader", "hash",
                      "load_ipython_extension"}


def test_a_star_import_needs_no_torch():
    if "COORDINATOR" not in os.environ:
        pytest.skip("this build has no roar.coordinator")
    run(sys.executable, "-c", "import sys; sys.modules['torch'] = None\n"
        "from roar import *\n"
        "assert Arena and shards and hash is __builtins__.hash")


WITHOUT_TORCH = """
import inspect, pydoc, sys
sys.modules["torch"] = None
import roar
assert not hasattr(roar, "DataLoader")
assert "DataLoader" not in dict(inspect.getmembers(roar))
assert "SampleOrder" in pydoc.render_doc(roar)
try:
    roar.DataLoader
except AttributeError as error:
    print(error)
try:
    from roar import DataLoader
except ImportError as error:
    print(error)
"""


def test_without_torch_the_loader_is_an_attribute_that_is_not_there():
    if not {"CLIP", "COORDINATOR"} <= set(os.environ):
        pytest.skip("this build has no roar.media or no roar.coordinator")
    sentence = ("roar.DataLoader needs the package 'torch', which is not installed: "
                "run 'pip install torch'\n")
    assert run(sys.executable, "-c", WITHOUT_TORCH).stdout == 2 * sentence


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


@pytest.mark.parametrize("module", [_roar_arena, _roar_ckpt, _roar_hash,
                                    _roar_reader, _roar_shard])
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
    for kind in (_roar_arena.Handle, _roar_arena.View, _roar_ckpt.Map,
                 _roar_ckpt.Part, _roar_ckpt.Reader, _roar_ckpt.Request, _roar_reader.Buffer,
                 _roar_reader.Reader, _roar_reader.Stream):
        with pytest.raises(TypeError):
            kind()


def test_it_uses_the_limited_api_alone():
    assert _roar_arena.__file__.endswith(".abi3.so")
    assert _roar_ckpt.__file__.endswith(".abi3.so")
    assert _roar_hash.__file__.endswith(".abi3.so")
    assert _roar_reader.__file__.endswith(".abi3.so")
    assert _roar_shard.__file__.endswith(".abi3.so")


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
