"""project.py - a project for `roar put` and `roar get` against the test server."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from server import KEY_ID, SECRET, Server

ROAR = os.environ.get("ROAR", "roar")
PATIENCE_S = 120


class Project:
    """A directory with a git repository and a record."""

    def __init__(self, root: Path, server: Server | None) -> None:
        self.root = root
        self.home = root.parent / "home"
        self.home.mkdir(exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"), "LC_ALL": "C.UTF-8",
            "AWS_EC2_METADATA_DISABLED": "true", "no_proxy": "*",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if server:
            self.env |= {"AWS_ACCESS_KEY_ID": KEY_ID,
                         "AWS_SECRET_ACCESS_KEY": SECRET,
                         "AWS_ENDPOINT_URL_S3": server.endpoint}
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q",
                 "--allow-empty", "-m", "first")
        self.roar("init", "-n")

    def git(self, *args: str) -> str:
        return subprocess.run(["git", *args], cwd=self.root, env=self.env,
                              check=True, capture_output=True,
                              text=True).stdout.strip()

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen([ROAR, *args], cwd=self.root, env=self.env,
                                stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def roar(self, *args: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([ROAR, *args], cwd=self.root, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def write(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def blake3(self, name: str) -> str:
        return self.roar("hash", name).stdout.split()[0]

    def show(self, step: str) -> dict[str, Any]:
        shown = json.loads(self.roar("show", step, "--json").stdout)
        assert isinstance(shown, dict)
        for file in [*shown["inputs"], *shown["outputs"]]:
            file["hash"] = (file["digests"] or {}).get("blake3")
        return shown

    def transfers(self) -> list[str]:
        """State files of transfers that were interrupted."""
        folder = self.root / ".roar" / "transfers"
        return sorted(os.listdir(folder)) if folder.exists() else []
