"""Keep compiled machine code for the next start.

Code that another version kept may name classes that no longer exist. Numba would fail on it; here
such code is ignored and compiled again.
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
        The function as numba compiled it.
    stamp
        A mark of the sources that the code was compiled from; by default the file of the function.
    """
    if not hasattr(compiled, "enable_caching"):  # numba is switched off
        return
    try:
        compiled.enable_caching()
    except RuntimeError:  # no place to write to: compiled at every start
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
