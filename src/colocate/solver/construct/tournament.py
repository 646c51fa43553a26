"""A tournament over numbers: its winner is the highest, and a change costs few matches."""

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import kernel, leaf_kernel
from colocate.problem.layout import NOWHERE


@leaf_kernel
def better(values: Floats, one: int, other: int) -> int:
    """Return which of two competitors wins; NOWHERE never wins, and the first wins a draw.

    Parameters
    ----------
    values : the value of every competitor
    one, other : two competitors
    """
    if other == NOWHERE or (one != NOWHERE and values[one] >= values[other]):
        return one
    return other


@kernel
def tournament(values: Floats) -> Ints:
    """Return the winners of all matches; that of the final stands at index 1."""
    half = 1
    while half < values.shape[0]:
        half *= 2
    winners = np.full(2 * half, NOWHERE)
    for competitor in range(values.shape[0]):
        winners[half + competitor] = competitor
    for match in range(half - 1, 0, -1):
        winners[match] = better(values, winners[2 * match], winners[2 * match + 1])
    return winners


@leaf_kernel
def replay(winners: Ints, values: Floats, competitor: int) -> None:
    """Play the matches of one competitor again, whose value has changed.

    Parameters
    ----------
    winners : the winners of all matches, changed in place
    values, competitor : the value of every competitor, and whose value has changed
    """
    match = (winners.shape[0] // 2 + competitor) // 2
    while match > 0:
        winners[match] = better(values, winners[2 * match], winners[2 * match + 1])
        match //= 2
