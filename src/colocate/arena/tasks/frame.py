"""What turns a composition of our blocks into a program for a task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """What turns a composition of our blocks into a program for a task.

    The blocks place items with a size and a load on GPUs with a capacity. A frame makes items of
    what a program gets, and an answer of their places. By default blocks are written without all
    that the public benchmark does not have: time windows, further limits, copies of a model.

    Parameters
    ----------
    entry
        The source of the function that the task calls, with all that it needs beside the blocks.
        It runs `Strategy(..., STARTS, EACH, FINISH)` on an `Instance`.
    windows
        Whether items have a load in each of several time windows.
    copies
        Whether GPUs have further limits, and copies of a model must be on different ones. The
        `rules` of an instance are then a list with the number of every item's model.
    slower
        How many times longer blocks take for a case than for one of the public benchmark.
    """

    entry: str
    windows: bool = False
    copies: bool = False
    slower: float = 1.0
