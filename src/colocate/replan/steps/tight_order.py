"""An exhaustive search for an order of the moves that wait for each other.

A state is the set of moves made so far, since that decides what is free. No state is tried twice.
Moves that block nobody are made at once, so the search branches only where GPUs are tight.
"""

from typing import NamedTuple

from colocate.replan.steps.board import Board, OrderMove
from colocate.replan.steps.settling import settle
from colocate.replan.steps.step import StepKind


class SearchBudget:
    """How much more may be searched for one change, over all its searches.

    Parameters
    ----------
    left
        Engines that may still be looked at, each once for every state.
    """

    def __init__(self, left: int) -> None:
        self._left = left

    def states(self, wanted: frozenset[int], most: int) -> int:
        """Return how many states a search for so many engines may try, `most` at the most."""
        return min(most, max(self._left, 0) // len(wanted))

    def spend(self, wanted: frozenset[int], search: "OrderSearch") -> None:
        """Count a search; one that tried nothing has looked at every engine all the same."""
        self._left -= len(wanted) * max(search.states, 1)


class OrderSearch(NamedTuple):
    """What a search for an order came to."""

    found: bool
    """Whether there is an order; the moves are then made."""
    complete: bool
    """Whether everything was tried, if there is none."""
    states: int


def search_within(
    board: Board, wanted: frozenset[int], most_states: int, work: SearchBudget
) -> bool:
    """Let all wanted engines come, in some order, if the work for that is left; return whether.

    Parameters
    ----------
    board, wanted, most_states
        As for `search_order`.
    work
        What may still be searched.
    """
    search = search_order(board, wanted, work.states(wanted, most_states))
    work.spend(wanted, search)
    return search.found


def search_order(board: Board, wanted: frozenset[int], most_states: int) -> OrderSearch:
    """Let all wanted engines come, in some order; without success nothing has changed.

    Parameters
    ----------
    board
        The fleet.
    wanted
        The engines that are to come.
    most_states
        How many states to try.
    """
    begin = len(board.journal)
    known: set[frozenset[OrderMove]] = set()
    settle(board)
    levels = [(len(board.journal), _choices(board, wanted))]
    while levels:
        if wanted.isdisjoint(board.pending):
            return OrderSearch(True, True, len(known))
        length, choices = levels[-1]
        board.take_back(length)
        if not choices:
            levels.pop()
            continue
        if len(known) >= most_states:
            board.take_back(begin)
            return OrderSearch(False, False, len(known))
        move = choices.pop()
        make(board, move)
        settle(board, move)
        state = frozenset(board.journal[begin:])
        if state not in known:
            known.add(state)
            levels.append((len(board.journal), _choices(board, wanted)))
    board.take_back(begin)
    return OrderSearch(False, True, len(known))


def make(board: Board, move: OrderMove) -> None:
    """Make a move on the board."""
    if move.kind is StepKind.UNLOAD:
        board.go(move.engine)
    else:
        board.come(move.engine)


def _choices(board: Board, wanted: frozenset[int]) -> list[OrderMove]:
    """Return what could be next, the most promising last."""
    found = []
    for engine in wanted:
        if engine in board.pending and board.fits(engine):
            move = OrderMove(board.pending[engine], engine)
            found.append((_relief(board, engine), move))
    for model in {board.model[engine] for engine in wanted}:
        may = board.may_go(model)
        if may and board.must_choose(model):
            found += [(_lack(board, each), OrderMove(StepKind.UNLOAD, each)) for each in may]
    return [move for _, move in sorted(found, key=lambda each: (each[0], -each[1].engine))]


def _relief(board: Board, engine: int) -> float:
    """Return how much lack ends when an engine is ready and another of its model can go."""
    leaving = board.leaving.get(board.model[engine], ())
    held = board.engines[engine].held_gb * len(board.gpus[engine])
    return max((_lack(board, each) for each in leaving), default=0.0) - 1e-3 * held


def _lack(board: Board, engine: int) -> float:
    """Return how much of what an engine holds is missing to others."""
    held = board.engines[engine].held_gb
    return sum(min(held, max(-board.slack[gpu], 0.0)) for gpu in board.gpus[engine])
