"""Pairs of connected sockets for programs that need some, such as event loops.

Programs may not make any themselves: the kernel numbers all sockets and pipes in one row, so a
program could read there how many another one has made.
"""

import errno
import os
import socket
from typing import Any

PAIRS = 4
"""As many event loops can run in a case; mostly there is one."""


def lend_sockets() -> None:
    """Make the pairs, and have `socket.socketpair` hand them out."""
    pairs = [socket.socketpair() for _ in range(PAIRS)]

    def socketpair(*_kind: Any, **_more: Any) -> tuple[socket.socket, socket.socket]:
        if not pairs:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return pairs.pop()

    python: Any = socket
    python.socketpair = socketpair
