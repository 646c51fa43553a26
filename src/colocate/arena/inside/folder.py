"""The folder that a program works in: whether it changed, and whether it holds too much."""

import os

MOST_ENTRIES = 10_000
"""Files and folders; a folder with more is overfull."""


def last_change() -> int:
    """Return when this folder last changed: its entries, mode, owner or attributes."""
    return os.stat(".").st_ctime_ns


def is_overfull() -> bool:
    """Whether this folder, a file system of its own, holds too many files.

    The count has files in it that are open and have no name any more.
    """
    found = os.statvfs(".")
    return found.f_files - found.f_ffree > MOST_ENTRIES
