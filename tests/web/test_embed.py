"""The page as C, and a build that cannot fetch what the page takes."""

import os
import subprocess
import sys

EMBED = os.environ["EMBED"]


def embed(output, *arguments):
    return subprocess.run([sys.executable, EMBED, str(output), *arguments],
                          capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def failing_npm(folder):
    npm = folder / "npm"
    npm.write_text("#!/bin/sh\necho cannot be reached >&2\nexit 1\n")
    npm.chmod(0o755)
    return ("--npm", str(npm), "--node", "/bin/false", "--work",
            str(folder / "work"))


def test_without_npm_there_is_no_page(tmp_path):
    output = tmp_path / "files.c"
    done = embed(output)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "dashboard_n_files = 0;" in output.read_text()


def test_a_build_goes_on_where_nothing_can_be_fetched(tmp_path):
    output = tmp_path / "files.c"
    done = embed(output, *failing_npm(tmp_path))
    assert done.returncode == 0
    assert "cannot be reached" in done.stderr
    assert "going on without it" in done.stderr
    assert "dashboard_n_files = 0;" in output.read_text()


def test_a_build_that_insists_fails(tmp_path):
    output = tmp_path / "files.c"
    done = embed(output, *failing_npm(tmp_path), "--required")
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr
    assert not output.exists()


def test_any_bytes_are_the_same_in_c(tmp_path):
    """The compiler's word: what it puts into a program is what was given."""
    sys.path.insert(0, os.path.dirname(EMBED))
    import embed as module  # pylint: disable=import-outside-toplevel
    data = bytes(range(256)) * 3 + b"??=123\\\"%s"
    (tmp_path / "http").mkdir()
    (tmp_path / "http/static_files.h").write_text(
        "#include <stdbool.h>\n#include <stddef.h>\n"
        "struct static_file { const char *path, *type, *etag; bool is_final;\n"
        "const char *data; size_t len; };\n")
    (tmp_path / "files.c").write_text(
        module.as_c([("/index.html", data), ("/assets/a.js", b"")]) +
        "#include <stdio.h>\nint main(void) { fwrite(dashboard_files[0].data, 1,"
        " dashboard_files[0].len, stdout); return dashboard_n_files != 2; }\n")
    program = str(tmp_path / "program")
    subprocess.run(["cc", "-I", str(tmp_path), "-o", program,
                    str(tmp_path / "files.c")], check=True)
    assert subprocess.run([program], stdout=subprocess.PIPE,
                          check=True).stdout == data
