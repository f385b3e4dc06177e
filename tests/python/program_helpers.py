"""Programs that tests start, and what becomes of their workers."""

import subprocess
import sys


def start_program(tmp_path, source, *options):
    """Runs `source` with the same modules at hand as the test has."""
    script = tmp_path / "program.py"
    path = [p for p in sys.path if p]
    script.write_text(f"import sys\nsys.path[:0] = {path!r}\n{source}")
    return subprocess.Popen(
        [sys.executable, *options, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
