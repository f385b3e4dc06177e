"""Builds the extensions: see pyproject.toml for all else.

The C sources are those of the checkout this folder lies in.  The limited API
makes one build that serves every Python from 3.11 on.  roar.media is built
where FFmpeg's libraries are.
"""

import glob
import os
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

os.chdir(os.path.dirname(os.path.abspath(__file__)))
LIB = os.path.join("..", "lib")
FFMPEG = ["libavformat >= 59.27", "libavcodec >= 59.37", "libavutil >= 57.28",
          "libswscale >= 6.7"]


class BuildWithStubs(build_ext):
    """Adds the type stubs, where type checkers look for those of modules that
    are a file.  An editable install has them beside the sources."""

    def run(self):
        super().run()
        for extension in [] if self.inplace else self.extensions:
            path = self.get_ext_fullpath(extension.name)
            stubs = os.path.join(os.path.dirname(path), f"{extension.name}-stubs")
            os.makedirs(stubs, exist_ok=True)
            shutil.copy(f"{extension.name}.pyi", os.path.join(stubs, "__init__.pyi"))


class LimitedWheel(bdist_wheel):
    """Says in the wheel's name that it serves later versions."""

    def finalize_options(self):
        self.py_limited_api = "cp311"
        super().finalize_options()


def extension(name, library, base, compile_args=(), link_args=()):
    """One made of its own folder, a folder of lib/ and some files of lib/base,
    of which no more is kept than is used."""
    return Extension(
        name,
        sorted([*glob.glob(f"{name}/*.c"), *glob.glob(f"{LIB}/{library}/*.c"),
                *(f"{LIB}/base/{file}.c" for file in base)]),
        include_dirs=[name, LIB, os.path.join("..", "include")],
        extra_compile_args=["-std=gnu17", "-O2", "-fvisibility=hidden",
                            "-ffunction-sections", "-D_GNU_SOURCE",
                            *compile_args],
        extra_link_args=["-pthread", "-lm", "-Wl,--gc-sections", *link_args],
        py_limited_api=True)


def pkg_config(what):
    """The words pkg-config has for FFmpeg, or None where it is not."""
    try:
        done = subprocess.run(["pkg-config", what, *FFMPEG], check=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.split()


def extensions():
    yield extension("_roar", "arena",
                    ["clock", "cpus", "fd", "path", "proc", "str"])
    libraries = pkg_config("--libs")
    if libraries is not None:
        yield extension("_roar_media", "media", ["error", "str", "vec"],
                        pkg_config("--cflags"), libraries)


setup(ext_modules=list(extensions()),
      cmdclass={"build_ext": BuildWithStubs, "bdist_wheel": LimitedWheel})
