"""What lint finds in a tree that has a fault."""

import pytest
from programs import load

lint = load("lint")


@pytest.fixture
def tree(monkeypatch):
    """A function that makes a tree of these files: {name: text}."""
    def make(files):
        monkeypatch.setattr(lint.matrix, "files", lambda: sorted(files))
        monkeypatch.setattr(lint, "read", lambda name: files[name].encode())
    return make


ORDER = "subdir('base')\nif x\n  subdir('net')\nendif\nsubdir('coord')\n"


def test_a_folder_may_use_those_above_it(tree):
    tree({"lib/meson.build": ORDER,
          "lib/coord/a.c": '#include "coord/a.h"\n#include "net/loop.h"\n',
          "lib/net/b.h": '#include "base/str.h"\n#include <sys/stat.h>\n'})
    assert lint.check_layers() == []


def test_a_folder_may_not_use_those_below_it(tree):
    tree({"lib/meson.build": ORDER,
          "lib/net/rpc/a.c": '#include "a.h"\n#include "coord/log.h"\n'})
    assert lint.check_layers() == [
        'lib/net/rpc/a.c:2: includes upward: #include "coord/log.h"']


def test_a_base_name_is_used_once(tree):
    tree({"lib/net/timer.c": "", "lib/net/timer.h": "", "lib/coord/timer.c": ""})
    assert lint.check_names() == [
        "lib: 'timer' is in coord, net: prefix it with its folder"]


def test_a_base_name_may_have_its_folder_before_it(tree):
    tree({"lib/net/net_timer.c": "", "lib/coord/wal/wal_timer.c": "",
          "lib/coord/net_timer.c": "", "lib/trace/call/call.c": "",
          "lib/trace/call.h": ""})
    assert lint.check_names() == []


def test_header_and_source_may_lie_apart_in_one_library(tree):
    tree({"lib/coord/inspect.h": "", "lib/coord/core/inspect.c": ""})
    assert lint.check_names() == []
    tree({"lib/coord/inspect.h": "", "lib/arena/core/inspect.c": ""})
    assert len(lint.check_names()) == 1


def test_types_are_written_in_one_way(tree, monkeypatch):
    monkeypatch.setattr(lint.shutil, "which", lambda name: name)
    monkeypatch.setattr(lint.matrix, "run", lambda *_, **__: (0, ""))
    tree({"a.py": "import os\nfrom typing import Any, Optional\n",
          "b.py": "from typing import Any\n"})
    assert lint.check_python() == ["a.py:2: write X | None and X | Y"]


def test_a_line_may_excuse_itself(tree, monkeypatch):
    monkeypatch.setattr(lint.shutil, "which", lambda name: name)
    monkeypatch.setattr(lint.matrix, "run", lambda *_, **__: (
        1, "a.py:1:1: 'os' imported but unused\na.py:2:1: 're' imported but unused\n"))
    tree({"a.py": "import os  # noqa: F401\nimport re\n"})
    assert lint.check_python() == ["a.py:2:1: 're' imported but unused"]


@pytest.mark.parametrize("argument, status", [("--help", 0), ("--bogus", 2)])
def test_it_checks_nothing_when_asked_for_help(monkeypatch, argument, status):
    monkeypatch.setattr(lint, "chosen", lambda args: pytest.fail("it checks"))
    with pytest.raises(SystemExit) as end:
        lint.main([argument])
    assert end.value.code == status
