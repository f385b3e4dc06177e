"""Exceptions of arenas; all are subclasses of ArenaError."""

from __future__ import annotations

import signal


class ArenaError(RuntimeError):
    """An operation on an arena failed; the text names cause and remedy."""


class ArenaFull(ArenaError, BufferError, TimeoutError):
    """No room was free in time.  Make the arena larger, or keep fewer items."""


class ArenaTooLarge(ArenaError, BufferError):
    """An array to be filled in place is larger than a unit can be."""


class ArenaEmpty(ArenaError, TimeoutError):
    """Nothing was received within the timeout."""


class ArenaClosed(ArenaError):
    """The arena was shut down, or this process has closed it."""


class ArenaInvalid(ArenaError, ValueError):
    """The argument is not an arena, is damaged, or is out of range."""


class ArenaNoMemory(ArenaError, MemoryError):
    """The machine does not have enough memory."""


class NotAParty(ArenaError, PermissionError):
    """This process has not joined the arena, or not in this role."""


class PeerDied(ArenaError, ConnectionResetError):
    """A process on the other side is dead.

    pid     its process id
    role    "producer", "consumer", "both", or "" when it had not joined
    status  how it ended, such as "killed by signal 9 (SIGKILL)" or "exited
            with status 3"; "" if not known, as only its parent can know
    """

    def __init__(self, text: str, pid: int = 0, role: str = "",
                 status: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.pid = pid
        self.role = role
        self.status = status

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[PeerDied], tuple[object, ...]]:
        return type(self), (self.text, self.pid, self.role, self.status)


ROLES = {0: "", 1: "producer", 2: "consumer", 3: "both"}


def status_text(status: int) -> str:
    """A wait status in words."""
    number = status & 0x7F
    if number == 0:
        return f"exited with status {status >> 8 & 0xFF}"
    try:
        name = f" ({signal.Signals(number).name})"
    except ValueError:
        name = ""
    return f"killed by signal {number}{name}"


def peer_died(text: str, pid: int, roles: int, known: int,
              status: int) -> PeerDied:
    """Called by the C extension to make the exception."""
    return PeerDied(text, pid, ROLES.get(roles, ""),
                    status_text(status) if known else "")
