#!/usr/bin/env python3
"""How commands end under a tracer, and what happens where tracing is forbidden.

    status.py TRACE_DUMP DENY

Every backend must report the end of a command as its parent would see it, say
why a command could not be executed, and run the command unobserved, with the
record saying so, where the kernel forbids observing it."""

import os
import subprocess
import sys
import tempfile

DUMP, DENY = (os.path.abspath(p) for p in sys.argv[1:3])
ENV = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
failures = []


def dump(tracer, command, prefix=()):
    """Runs it; returns trace_dump's lines and the command's output."""
    out = os.path.join(os.getcwd(), "..", "trace")
    argv = [*prefix, DUMP, "--tracer", tracer, "--events", "--facts",
            "-o", out, "--", *command]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=60,
                          env=ENV, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return [f"trace_dump exit {done.returncode}"], done.stdout
    with open(out, encoding="utf-8") as f:
        return f.read().splitlines(), done.stdout


def expect(title, got, wanted):
    if got != wanted:
        failures.append(title)
        print(f"{title}: got {got!r}, expected {wanted!r}")


def statuses(tracer):
    cases = [
        ("exit 0", ["true"], "status exit 0"),
        ("exit 1", ["false"], "status exit 1"),
        ("exit 255", ["sh", "-c", "exit 255"], "status exit 255"),
        ("SIGTERM", ["sh", "-c", "kill -TERM $$"], "status killed 15"),
        ("SIGKILL", ["sh", "-c", "kill -KILL $$"], "status killed 9"),
        ("SIGSEGV", ["sh", "-c", "kill -SEGV $$"], "status killed 11"),
        ("SIGTRAP", ["sh", "-c", "kill -TRAP $$"], "status killed 5"),
        ("no such program", ["./nothing"], "status exec-errno 2"),
        ("not executable", ["./plain"], "status exec-errno 13"),
        ("a directory", ["./dir"], "status exec-errno 13"),
        # As a shell and execvp() do it: no "#!" means sh.
        ("no known format", ["./plain-script"], "status exit 5"),
        # But what is no text is no script either.
        ("a broken program", ["./ruin"], "status exec-errno 8"),
        ("binary content", ["./bytes"], "status exec-errno 8"),
        ("no interpreter", ["./orphan"], "status exec-errno 2"),
    ]
    for title, command, wanted in cases:
        lines, _ = dump(tracer, command)
        expect(f"{tracer}: {title}", lines[-1:], [wanted])


def forbidden(tracer):
    """The command runs in any case; the facts are there or the gap is."""
    command = ["sh", "-c", "cat in.txt > out.txt; echo said; exit 3"]
    for words in (["ptrace"], ["seccomp"], ["ptrace", "seccomp"], ["vm"],
                  ["io_uring"]):
        title = f"{tracer}: denied {' and '.join(words)}"
        lines, said = dump(tracer, command, [DENY, *words, "--"])
        if not lines or lines[-1] != "status exit 3":
            expect(f"{title}: status", lines[-1:], ["status exit 3"])
            continue
        expect(f"{title}: output", said, "said\n")
        honest = any(x.startswith("gap ") for x in lines) or (
            "input in.txt" in lines and "output out.txt" in lines)
        expect(f"{title}: facts or a gap", honest, True)
        if "ptrace" in words and tracer == "ptrace":
            expect(f"{title}: gap", "gap untraced" in lines, True)


def unobserved():
    lines, said = dump("none", ["sh", "-c", "echo said; exit 4"])
    expect("none: output", said, "said\n")
    expect("none: lines", [x.split()[0] for x in lines],
           ["gap", "untraced", "status"])
    expect("none: status", lines[-1:], ["status exit 4"])
    lines, _ = dump("none", ["./nothing"])
    expect("none: no such program", lines[-1:], ["status exec-errno 2"])


def main():
    names = subprocess.run([DUMP, "--list"], stdout=subprocess.PIPE, text=True,
                           env=ENV, check=True).stdout.split()
    with tempfile.TemporaryDirectory(prefix="roar-status-") as base:
        os.mkdir(f"{base}/d")
        os.chdir(f"{base}/d")
        os.mkdir("dir")
        for name, text, mode in (("in.txt", "hello\n", 0o644),
                                 ("plain", "hello\n", 0o644),
                                 ("plain-script", "exit 5\n", 0o755),
                                 ("ruin", "\x7fELF and no more\n", 0o755),
                                 ("bytes", "echo\0\1\n", 0o755),
                                 ("orphan", "#!/no/interpreter\n", 0o755)):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(name, mode)
        for name in names:
            statuses(name)
            forbidden(name)
        unobserved()
        os.chdir("/")
    return 1 if failures else 0


sys.exit(main())
