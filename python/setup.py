"""Builds the extension: see pyproject.toml for all else.

The C sources are those of the checkout this folder lies in.  The limited API
makes one build that serves every Python from 3.11 on.
"""

import glob
import os
import shutil

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
LIB = os.path.join("..", "lib")
BASE = ["clock", "cpus", "fd", "path", "proc", "str"]  # for lib/arena
SOURCES = [*glob.glob("_roar/*.c"), *glob.glob(f"{LIB}/arena/*.c"),
           *(f"{LIB}/base/{name}.c" for name in BASE)]


class BuildWithStub(build_ext):
    """Puts the type stub beside the extension."""

    def run(self):
        super().run()
        path = self.get_ext_fullpath("_roar")
        shutil.copy("_roar.pyi", os.path.dirname(path))


class LimitedWheel(bdist_wheel):
    """Says in the wheel's name that it serves later versions."""

    def finalize_options(self):
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    ext_modules=[Extension(
        "_roar", sorted(SOURCES),
        include_dirs=["_roar", LIB, os.path.join("..", "include")],
        # Of lib/base no more is kept than is used.
        extra_compile_args=["-std=gnu17", "-O2", "-fvisibility=hidden",
                            "-ffunction-sections", "-D_GNU_SOURCE"],
        extra_link_args=["-pthread", "-lm", "-Wl,--gc-sections"],
        py_limited_api=True)],
    cmdclass={"build_ext": BuildWithStub, "bdist_wheel": LimitedWheel},
)
