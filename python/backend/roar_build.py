"""The build backend of the package: what pip calls (PEP 517 and PEP 660).

It needs Python and a C compiler and nothing from PyPI, so `pip install ./python`
works in a fresh virtual environment, with and without build isolation, and without
a network.  A wheel is a ZIP archive with a list of its files; compiling is a call
of the compiler for each source.  Everything is built in a temporary folder: the
checkout stays as it is.
"""

import base64
import contextlib
import glob
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

# pip imports this file before it looks at requires-python, and what follows cannot be
# imported by an older Python.
if sys.version_info < (3, 11):
    sys.exit("roar: roar needs Python 3.11 or later; this is "
             f"{sys.version_info[0]}.{sys.version_info[1]}.")

import tomllib  # noqa: E402

from extensions import (INCLUDE, LIB, PROTO, PYTHON, Missing,  # noqa: E402
                        compiler, extensions)

FLAGS = ["-std=gnu17", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden",
         "-ffunction-sections", "-D_GNU_SOURCE"]
LINK = ["-shared", "-pthread", "-Wl,--gc-sections"]


# ---- the hooks ----

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with one_sentence(), tempfile.TemporaryDirectory() as folder:
        files = {**compiled(folder), **stubs(), **package()}
        return write_wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None,
                   metadata_directory=None):
    """The extensions, and a pointer to the checkout for all else."""
    with one_sentence(), tempfile.TemporaryDirectory() as folder:
        files = {**compiled(folder), "roar.pth": f"{PYTHON}\n".encode()}
        return write_wheel(wheel_directory, files)


def build_sdist(sdist_directory, config_settings=None):
    with one_sentence():
        raise Missing("roar has no source distribution of the package alone: its C "
                      "sources are the checkout's, so install from there.")


@contextlib.contextmanager
def one_sentence():
    """Ends the build with the sentence of Missing instead of a traceback."""
    try:
        yield
    except Missing as error:
        sys.exit(f"roar: {error}")


# ---- compiling ----

def call(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Missing(f"'{' '.join(command)}' failed.\n{done.stdout}")


def generate(extension, folder):
    """Lets protoc-c write the messages as C, below `folder`."""
    if not extension.messages:
        return
    os.makedirs(folder)
    call(["protoc-c", f"--proto_path={PROTO}", f"--c_out={folder}",
          *extension.messages])
    extension.compile_args += ["-isystem", folder]
    extension.foreign += sorted(glob.glob(f"{folder}/*.pb-c.c"))


def words(name):
    """A variable of the environment that adds options, such as CFLAGS."""
    return os.environ.get(name, "").split()


def compile_commands(extension, folder):
    """(commands, objects): one of each for each source."""
    common = [*compiler(), *FLAGS, *words("CFLAGS"), f"-I{PYTHON}/{extension.name}",
              f"-I{PYTHON}", f"-I{LIB}", f"-I{INCLUDE}", f"-I{sysconfig.get_path('include')}",
              *extension.compile_args]
    commands, objects = [], []
    for source in [*extension.sources, *extension.foreign]:
        objects.append(f"{folder}/{len(objects)}.o")
        quiet = ["-w"] if source in extension.foreign else []
        commands.append([*common, *quiet, "-c", source, "-o", objects[-1]])
    return commands, objects


def compiled(folder):
    """{name in the wheel: bytes} of the extensions, built by all CPUs."""
    wanted, commands, objects, made = extensions(), [], {}, {}
    for extension in wanted:
        place = os.path.join(folder, extension.name)
        os.makedirs(place)
        generate(extension, os.path.join(place, "proto"))
        more, objects[extension.name] = compile_commands(extension, place)
        commands += more
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(call, commands))
    for extension in wanted:
        name = f"{extension.name}.abi3.so"
        path = os.path.join(folder, name)
        call([*compiler(), *LINK, *objects[extension.name], "-o", path,
              *words("LDFLAGS"), *extension.link_args, "-lm"])
        with open(path, "rb") as f:
            made[name] = f.read()
    return made


# ---- the wheel ----

def read(path):
    with open(path, "rb") as f:
        return f.read()


def package():
    """The modules in Python."""
    return {os.path.relpath(path, PYTHON): read(path)
            for pattern in ("*.py", "py.typed")
            for path in glob.glob(f"{PYTHON}/roar/**/{pattern}", recursive=True)}


def stubs():
    """Types of the extensions, where checkers look for those of a module that is
    a file."""
    return {f"{os.path.basename(path)[:-4]}-stubs/__init__.pyi": read(path)
            for path in glob.glob(f"{PYTHON}/_roar*.pyi")}


def metadata(project):
    return (f"Metadata-Version: 2.1\nName: {project['name']}\n"
            f"Version: {project['version']}\nSummary: {project['description']}\n"
            f"License: {project['license']['text']}\n"
            f"Requires-Python: {project['requires-python']}\n").encode()


def tag():
    """For every Python from 3.11 on, on machines like this one."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"cp311-abi3-{platform}"


def write_wheel(folder, files):
    """Writes the wheel and returns its name."""
    with open(os.path.join(PYTHON, "pyproject.toml"), "rb") as f:
        project = tomllib.load(f)["project"]
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    files[f"{info}/METADATA"] = metadata(project)
    files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: roar\n"
                              f"Root-Is-Purelib: false\nTag: {tag()}\n").encode()
    name = f"{stem}-{tag()}.whl"
    record = ""
    with zipfile.ZipFile(os.path.join(folder, name), "w",
                         zipfile.ZIP_DEFLATED) as wheel:
        for path, content in sorted(files.items()):
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(
                hashlib.sha256(content).digest()).decode().rstrip("=")
            record += f"{path},sha256={digest},{len(content)}\n"
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return name
