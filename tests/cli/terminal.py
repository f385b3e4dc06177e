"""A terminal with a program in it, for tests that type."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    """Starts a program as the leader of a session on a terminal of its own."""

    def __init__(self, argv, cwd, env, rows=24, columns=80):
        self.output = b""
        self.seen = 0  # how far expect() has read
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                self.set_size(0, rows, columns)
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(125)
        self.resize(rows, columns)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def set_size(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.set_size(self.fd, rows, columns)

    def type(self, text):
        os.write(self.fd, text.encode() if isinstance(text, str) else text)

    def pump(self, seconds):
        """Reads what comes; False at the end of the output."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the last program closed the terminal
            return False
        self.output += data
        return bool(data)

    def expect(self, pattern, timeout=30):
        """Waits for a pattern behind what was expected before."""
        pattern = pattern.encode() if isinstance(pattern, str) else pattern
        end = time.monotonic() + timeout
        while True:
            match = re.compile(pattern).search(self.output, self.seen)
            if match:
                self.seen = match.end()
                return match
            if time.monotonic() > end or not self.pump(0.1):
                match = re.compile(pattern).search(self.output, self.seen)
                if match:
                    self.seen = match.end()
                    return match
                raise AssertionError(
                    f"no {pattern!r} in {self.output[self.seen:]!r}")

    def wait(self, timeout=60):
        """The exit code as a shell would give it."""
        end = time.monotonic() + timeout
        while self.status is None:
            self.pump(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            elif time.monotonic() > end:
                raise AssertionError(
                    f"no end after {timeout} s; on the screen: "
                    f"{self.output[-2000:]!r}")
        while self.pump(0.05):  # what is still in the terminal
            if not select.select([self.fd], [], [], 0.05)[0]:
                break
        if os.WIFSIGNALED(self.status):
            return 128 + os.WTERMSIG(self.status)
        return os.WEXITSTATUS(self.status)

    @property
    def text(self):
        return self.output.decode("utf-8", "surrogateescape")

    def close(self):
        if self.status is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                pass
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except OSError:
                pass
        try:
            os.close(self.fd)
        except OSError:
            pass


def on_terminal(place, *args, env=None, **options):
    """roar with these arguments, on a terminal."""
    return Terminal(place.argv(*args), place.root, place.environment(env),
                    **options)
