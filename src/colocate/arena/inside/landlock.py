"""The wall around files without bubblewrap: a Landlock ruleset of the kernel."""

import ctypes
import os
import struct
from collections.abc import Iterable

from .kernel_calls import call, forbid_new_privileges

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of system calls, the same on all architectures."""
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE = 1 << 14
"""Rights, as in <linux/landlock.h>; so are the others here."""
READING = EXECUTE | READ_FILE | READ_DIR
DEVICES_AND_SOCKETS = 1 << 6 | 1 << 9 | 1 << 11 | 1 << 15
"""Rights that are never given: to make devices and sockets, and to control devices."""
FILES_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights that a version of the interface knows; a version without an entry added none."""
TCP = 3
"""Both rights on connections: to bind and to connect."""
SIGNALS_AND_SOCKETS = 3
"""Both scopes: abstract sockets, and signals to processes outside."""


def version() -> int:
    """Return the version of the kernel's interface; raise OSError if there is none."""
    return call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))


def enclose(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Hide all other files from this process and its children; raise OSError if that fails."""
    known = version()
    rights = RIGHTS[max(number for number in RIGHTS if number <= known)]
    attributes = [rights, TCP, SIGNALS_AND_SOCKETS][: 1 if known < 4 else 2 if known < 6 else 3]
    packed = struct.pack(f"{len(attributes)}Q", *attributes)
    ruleset = call(CREATE_RULESET, packed, ctypes.c_size_t(len(packed)), ctypes.c_uint32(0))
    for path in readable:
        _allow(ruleset, path, READING)
    for path in writable:
        _allow(ruleset, path, rights & ~DEVICES_AND_SOCKETS)
    forbid_new_privileges()
    call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    if not os.path.exists(path):
        return
    if not os.path.isdir(path):
        rights &= FILES_ONLY
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, place)
    call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    os.close(place)
