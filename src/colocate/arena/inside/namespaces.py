"""The walls around files, processes and network that the kernel's namespaces make.

A process with namespaces of its own sees a root of its own: some files of the machine, read-only,
and nothing else. What is read-only keeps no access times either.
"""

import os
from collections.abc import Sequence

from .kernel_calls import detach, make_read_only, mount, pivot_root, unshare

FILES, GROUPS, NAMES, MESSAGES, USERS, PROCESSES, NETWORK = (
    *(0x20000, 0x2000000, 0x4000000, 0x8000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
"""Kinds of namespaces, as in <linux/sched.h>."""
NOBODY = 65534
"""The user and group inside."""
NO_SETUID, NO_DEVICES, BIND, RECURSIVE, PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
"""As in <sys/mount.h>."""
ANY_FOLDER = "/tmp"
"""Where the new root is while it is made; nothing is written to the folder itself."""
OLD = "/.old"
"""Where the root so far is, while the new one is made."""


def enter(view: Sequence[tuple[str, str, str]], work: str) -> None:
    """Move this process to a root and a network of its own; raise OSError if that fails.

    Parameters
    ----------
    view
        What is to be seen, in order: ``bind`` with a path outside and one inside, ``link`` with a
        text and a path inside, or ``empty`` with a path inside.
    work
        The path inside of a folder, to which `apart` will attach one to write to.
    """
    _leave(FILES | GROUPS | NAMES | MESSAGES | NETWORK)
    mount("none", "/", "", RECURSIVE | PRIVATE)
    mount("tmpfs", ANY_FOLDER, "tmpfs", NO_SETUID | NO_DEVICES, "mode=0755")
    os.mkdir(ANY_FOLDER + OLD)
    pivot_root(ANY_FOLDER, ANY_FOLDER + OLD)
    os.chdir("/")
    for step, source, place in view:
        _show(step, source, place)
    os.makedirs(work)
    detach(OLD)
    os.rmdir(OLD)
    make_read_only("/")


def apart(work: str, most_bytes: int, entries: int) -> None:
    """Give this process files of its own, and its children numbers of their own.

    Parameters
    ----------
    work
        The folder to write to: new, empty, and seen by nobody else.
    most_bytes, entries
        What the folder may hold, counting files that have no name any more.
    """
    unshare(FILES | MESSAGES | PROCESSES)
    room = f"mode=0700,size={most_bytes},nr_inodes={entries}"
    mount("tmpfs", work, "tmpfs", NO_SETUID | NO_DEVICES, room)


def number_children_anew() -> None:
    """Let the next child of this process be the first one of a namespace, with the number 1."""
    unshare(PROCESSES)


def _leave(kinds: int) -> None:
    """Leave namespaces of the machine, as a user who has rights in the new ones only."""
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(kinds | USERS)
    except OSError:
        unshare(kinds)  # a superuser may, even where nobody gets a namespace of users
        return
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {user} 1"),
        ("gid_map", f"{NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _show(step: str, source: str, place: str) -> None:
    """Take one step towards the new root."""
    if step == "link":
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(source, place)
    elif step == "empty":
        mount("tmpfs", place, "tmpfs", NO_SETUID | NO_DEVICES, "mode=0755")
    elif os.path.exists(OLD + source):
        _bind(OLD + source, place)


def _bind(source: str, place: str) -> None:
    """Show a file or folder of the machine at a place; nothing can be made in it any more."""
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    elif not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    mount(source, place, "", BIND | RECURSIVE)
    make_read_only(place)
