"""Moves that block nobody: they are made as soon as they can be, without any search."""

from collections.abc import Iterable

from colocate.replan.steps.board import Board, OrderMove
from colocate.replan.steps.step import StepKind


def settle(board: Board, after: OrderMove | None = None) -> None:
    """Let everything come and go that can without blocking anything else.

    An engine comes where no GPU is tight. One goes as soon as its model is served without it,
    unless only some of its model may go and they are on different GPUs: then a search decides.

    Parameters
    ----------
    board
        The fleet.
    after
        The only move since the board was settled; None to look at everything.
    """
    if after is None:
        loosened = _release(board, list(board.leaving))
        todo = sorted(board.pending)
    else:
        loosened = _release(board, [board.model[after.engine]])
        if after.kind is StepKind.UNLOAD:
            loosened.update(board.gpus[after.engine])
        todo = _awaited(board, loosened)
    while todo:
        models = []
        for engine in todo:
            if engine in board.pending and board.is_safe(engine):
                board.come(engine)
                models.append(board.model[engine])
        todo = _awaited(board, _release(board, models))


def _awaited(board: Board, gpus: Iterable[int]) -> list[int]:
    """Return the engines that are to come to some GPUs."""
    return sorted({engine for gpu in gpus for engine in board.awaited[gpu]})


def _release(board: Board, models: list[int]) -> set[int]:
    """Let engines of some models go where there is no choice; return the GPUs that they leave."""
    loosened: set[int] = set()
    for model in models:
        if not (may := board.may_go(model)):
            continue
        spare = board.open[model] - board.fewest[model]
        if board.must_choose(model) and len({board.gpus[engine] for engine in may}) > 1:
            continue
        for engine in may[:spare]:
            board.go(engine)
            loosened.update(board.gpus[engine])
    return loosened
