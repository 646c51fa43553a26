"""Ways out where moves wait for each other in a circle.

First those that keep every model served: an engine spends a while on a spare GPU. Then those that
do not: an engine stops before its successor is ready, or one that stays sleeps for a while. Among
ways of one sort, the cheapest comes first: the fewest bytes loaded, or the least demand that waits.
"""

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from colocate.problem.tolerance import TINY
from colocate.replan.steps.board import Board
from colocate.replan.steps.tight_order import SearchBudget, search_within

MOST_TRIED = 60
"""Ways out that are tried with a whole search after each, while there is work left; beyond, the
first that helps is taken."""


class DetourKind(IntEnum):
    """What a way out does, the kindest first."""

    SPARE_GPU = 0
    SLEEP = 1
    STOP = 2


class Detour(NamedTuple):
    """One way out."""

    kind: DetourKind
    cost: float
    engine: int
    gpu: int
    """The spare GPU; -1 if there is none."""


def take_detour(board: Board, wanted: frozenset[int], most_states: int, work: SearchBudget) -> None:
    """Make the cheapest way out after which more of the wanted engines can come.

    Where none lets all of them come, one comes at once that the way has made room for. So every way
    out brings the change on, and none is taken again and again.

    Parameters
    ----------
    board
        The fleet, in which none of the wanted engines has an order.
    wanted
        The engines that wait for each other.
    most_states
        How many states to try after each way out.
    work
        What may still be searched for the whole change; without any, no search is made.
    """
    ways = sorted(_ways(board, wanted))
    for way in ways[:MOST_TRIED]:
        if not work.states(wanted, most_states):
            break
        taken = _Taken(board, way)
        if search_within(board, wanted, most_states, work):
            return
        taken.take_back()
    pending = sorted(wanted.intersection(board.pending))
    blocked = [engine for engine in pending if not board.fits(engine)]
    for way in ways:
        taken = _Taken(board, way)
        freed = next((engine for engine in blocked if board.fits(engine)), None)
        if freed is not None:
            board.come(freed)
            return
        taken.take_back()
    _stop_enough(board, wanted)


class _Taken:
    """A way out that has been taken, and can be taken back."""

    def __init__(self, board: Board, way: Detour) -> None:
        self._board, self._length = board, len(board.journal)
        self._engine, self._again = way.engine, -1
        if way.kind is DetourKind.STOP:
            board.go(way.engine)
        elif way.kind is DetourKind.SLEEP:
            board.sleep(way.engine)
        else:
            if way.engine in board.stays and way.engine not in _all_leaving(board):
                self._again = board.send_away(way.engine)
            spare = replace(board.engines[way.engine], gpus=(board.gpu_names[way.gpu],))
            board.come_for_a_while(board.add(spare))
            board.go(way.engine)

    def take_back(self) -> None:
        """Undo it."""
        self._board.take_back(self._length)
        if self._again >= 0:
            self._board.keep_after_all(self._engine, self._again)


def _all_leaving(board: Board) -> set[int]:
    return {engine for leaving in board.leaving.values() for engine in leaving}


def _ways(board: Board, wanted: frozenset[int]) -> Iterator[Detour]:
    """Yield every way out that makes room where the wanted engines wait for it."""
    tight = {gpu for engine in wanted for gpu in board.gpus[engine] if board.is_tight(gpu)}
    tight |= {g for e in wanted if board.is_kept_out(e) for g in board.gpus[e]}
    spare = [gpu for gpu in range(len(board.free)) if board.slack[gpu] > 0.0 and gpu not in tight]
    leaving = _all_leaving(board)
    waiting = {board.model[engine] for engine in wanted}
    blockers = {engine for gpu in tight for engine in board.present[gpu]}
    for engine in sorted(blockers & (leaving | set(board.stays))):
        placed = board.engines[engine]
        goes = engine in leaving
        if goes and board.model[engine] in waiting:
            yield Detour(DetourKind.STOP, _harm(board, engine), engine, -1)
        if not goes and placed.model in board.change.may_sleep:
            yield Detour(DetourKind.SLEEP, _harm(board, engine), engine, -1)
        allowed = board.change.open_to.get(placed.model)
        for gpu in spare if len(placed.gpus) == 1 else ():
            if not board.has_spare(gpu, placed.held_gb) or not board.is_welcome(engine, gpu):
                continue
            if allowed is not None and board.gpu_names[gpu] not in allowed:
                continue
            cost = placed.weights_gb * (1.0 if goes else 2.0)
            yield Detour(DetourKind.SPARE_GPU, cost, engine, gpu)
            break


def _harm(board: Board, engine: int) -> float:
    """Return what is lost while an engine does not serve: its demand, for as long as it loads."""
    model, placed = board.model[engine], board.engines[engine]
    left = board.open[model] - 1
    share = 1.0 if left <= 0 else 1e-3 / left
    return share * board.change.demand.get(placed.model, 1.0) * max(placed.weights_gb, TINY)


def _stop_enough(board: Board, wanted: frozenset[int]) -> None:
    """Stop the engines on the GPUs of one wanted engine that harm least, until it fits."""
    leaving = _all_leaving(board)

    def stopped(engine: int) -> list[int]:
        there = {e for gpu in board.gpus[engine] for e in board.present[gpu] if e in leaving}
        return sorted(there, key=lambda each: _harm(board, each))

    waiting = [engine for engine in wanted if engine in board.pending and stopped(engine)]
    first = min(waiting, key=lambda engine: sum(_harm(board, e) for e in stopped(engine)))
    for engine in stopped(first):
        board.go(engine)
        if board.fits(first):
            return
