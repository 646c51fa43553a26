"""The folder that a program works in: whether it changed, and whether it holds too much."""

import os
from contextlib import suppress

MOST_ENTRIES = 10_000
"""Files and folders; a folder with more is overfull, and the count stops there."""


def last_change() -> int:
    """Return when this folder last changed: its entries, mode, owner or attributes."""
    return os.stat(".").st_ctime_ns


def is_overfull(most_bytes: int) -> bool:
    """Whether this folder holds too much, or something that cannot be read."""
    used = entries = 0
    folders = ["."]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    with suppress(FileNotFoundError):
                        used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if used > most_bytes or entries > MOST_ENTRIES:
                        return True
        except FileNotFoundError:
            continue  # it disappeared meanwhile
        except OSError:
            return True
    return False
