"""Builds the extensions: see pyproject.toml for all else.

The C sources are those of the checkout this folder lies in.  The limited API
makes one build that serves every Python from 3.11 on.  What roar.media needs is
left out where FFmpeg's headers are not.
"""

import glob
import os
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
LIB = os.path.join("..", "lib")
FFMPEG = ["libavformat >= 59.27", "libavcodec >= 59.37",
          "libavutil >= 57.28", "libswscale >= 6.7"]


def extension(name, folder, base, flags=()):
    """The module `name` over one folder of lib/ and some files of lib/base."""
    sources = [*glob.glob(f"{name}/*.c"), *glob.glob(f"{LIB}/{folder}/*.c"),
               *(f"{LIB}/base/{file}.c" for file in base)]
    return Extension(
        name, sorted(sources),
        include_dirs=[name, LIB, os.path.join("..", "include")],
        # Of lib/base no more is kept than is used.
        extra_compile_args=["-std=gnu17", "-O2", "-fvisibility=hidden",
                            "-ffunction-sections", "-D_GNU_SOURCE"],
        extra_link_args=["-pthread", *flags, "-lm", "-Wl,--gc-sections"],
        py_limited_api=True)


def extensions():
    yield extension("_roar", "arena",
                    ["clock", "cpus", "fd", "path", "proc", "str"])
    try:
        flags = subprocess.run(["pkg-config", "--libs", *FFMPEG],
                               capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        print("without roar.media: pkg-config finds no FFmpeg 5.1 or later")
        return
    yield extension("_roar_media", "media", ["error", "str", "vec"],
                    flags.stdout.split())


class BuildWithStub(build_ext):
    """Puts the type stubs beside the extensions."""

    def run(self):
        super().run()
        for made in self.extensions:
            path = self.get_ext_fullpath(made.name)
            shutil.copy(made.name + ".pyi", os.path.dirname(path))


class LimitedWheel(bdist_wheel):
    """Says in the wheel's name that it serves later versions."""

    def finalize_options(self):
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    ext_modules=list(extensions()),
    cmdclass={"build_ext": BuildWithStub, "bdist_wheel": LimitedWheel},
)
