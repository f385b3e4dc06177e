"""Fixtures of the S3 tests: the verifying server, and the proxy before it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import Project
from proxy import Proxy
from server import Server

# Nothing of the machine reaches the clients: neither proxies nor credentials.
for name in list(os.environ):
    if name.startswith("AWS_") or name.lower() in (
            "http_proxy", "https_proxy", "all_proxy"):
        del os.environ[name]
os.environ["no_proxy"] = "*"


@pytest.fixture
def server() -> Iterator[Server]:
    """A verifying server with the bucket `data`."""
    started = Server()
    started.add_bucket("data")
    yield started
    started.stop()


@pytest.fixture
def proxy(server: Server, tmp_path_factory: pytest.TempPathFactory
          ) -> Iterator[Proxy]:
    """roar-proxy with `server` as its upstream and the right credentials."""
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    started = Proxy(server.endpoint, tmp_path_factory.mktemp("proxy"))
    yield started
    assert started.stop() == 0, started.said()


@pytest.fixture
def project(server: Server, tmp_path: Path) -> Project:
    """A project whose environment leads to `server`."""
    return Project(tmp_path / "project", server)
