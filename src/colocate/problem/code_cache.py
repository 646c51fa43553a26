"""Machine code that numba keeps for the next start.

What was kept by another version may name classes that no longer exist. Numba would fail on it; here
it counts as not kept, and is compiled anew.
"""

from pickle import UnpicklingError
from typing import Any

UNREADABLE = (
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    UnpicklingError,
    ValueError,
)
"""What reading a pickle of unknown origin may raise."""


def keep_code(compiled: Any, stamp: str | None = None) -> None:
    """Let numba keep the machine code of a function, if there is a place to write to.

    Parameters
    ----------
    compiled
        What numba made of the function.
    stamp
        What the code was compiled from; by default the file that the function stands in.
    """
    if not hasattr(compiled, "enable_caching"):  # numba is told not to compile
        return
    try:
        compiled.enable_caching()
    except RuntimeError:  # there is no place to write to: it is compiled at every start
        return
    kept = compiled._cache._cache_file
    if stamp is not None:
        kept._source_stamp = stamp
    load_index = kept._load_index

    def readable_index() -> Any:
        try:
            return load_index()
        except UNREADABLE:
            return {}

    kept._load_index = readable_index
