"""An order of moves in which no GPU is ever too full, and models keep serving if they can."""

from dataclasses import dataclass

from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.board import Board, OrderMove
from colocate.replan.steps.detours import take_detour
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.settling import settle
from colocate.replan.steps.step import StepKind
from colocate.replan.steps.tight_order import SearchBudget, search_within

MOST_STATES = 3000
"""States of one knot of moves that are tried for an order: all of them, for eleven moves; some
tenths of a second."""
STATES_AFTER_DETOUR = 300
"""The same after each way out that is tried."""
MOST_WORK = 300_000
"""What may be searched for one change in all, and as much again after ways out: engines that are
looked at, once for every state. About two seconds, however many moves wait for each other."""


@dataclass(frozen=True)
class MoveOrder:
    """An order of moves, one after the other.

    Parameters
    ----------
    moves
        What happens to which engine: it comes (LOAD), goes (UNLOAD), sleeps or wakes.
    engines
        The engines, by the numbers of the moves.
    stopped
        The moves, by number, after which a model has fewer engines than memory should allow.
    spare
        Engines that are on a spare GPU for a while.
    """

    moves: tuple[OrderMove, ...]
    engines: tuple[PlacedEngine, ...]
    stopped: tuple[int, ...]
    spare: tuple[PlacedEngine, ...]

    @property
    def keeps_serving(self) -> bool:
        """Whether every model keeps serving with as many engines as it has before and after."""
        return not self.stopped

    @property
    def loaded_gb(self) -> float:
        """The weights that all its moves load."""
        loads = (move.engine for move in self.moves if move.kind is StepKind.LOAD)
        return sum(self.engines[engine].weights_gb for engine in loads)


def ordered(change: FleetChange) -> MoveOrder:
    """Order the moves of a change; there is always an order if engines may stop for a while."""
    board, first, work = Board(change), SearchBudget(MOST_WORK), SearchBudget(MOST_WORK)
    settle(board)
    while board.pending:
        for wanted in _knots(board):
            if not search_within(board, wanted, MOST_STATES, first):
                take_detour(board, wanted, STATES_AFTER_DETOUR, work)
        settle(board)
    _let_the_rest_go(board)
    return order_of(board)


def order_of(board: Board) -> MoveOrder:
    """Return the moves that a board has seen, in their order."""
    coming = {*board.comes, *board.stays}
    final = set(board.change.then)
    spare = tuple(
        board.engines[move.engine]
        for move in board.journal
        if move.kind is StepKind.LOAD
        and move.engine not in coming
        and board.engines[move.engine] not in final
    )
    return MoveOrder(tuple(board.journal), tuple(board.engines), _stopped(board), spare)


def _stopped(board: Board) -> tuple[int, ...]:
    """Return the moves that leave a model with fewer engines than it should have."""
    first = Board(board.change)
    opened = {model: first.open.get(model, 0) for model in board.open}
    found = []
    for number, (kind, engine) in enumerate(board.journal):
        model = board.model[engine]
        gone = kind in (StepKind.UNLOAD, StepKind.SLEEP)
        opened[model] += -1 if gone else 1
        if gone and opened[model] < board.fewest[model]:
            found.append(number)
    return tuple(found)


def _let_the_rest_go(board: Board) -> None:
    """Let engines go that were waiting for a choice which nothing depends on any more."""
    for model in list(board.leaving):
        for engine in sorted(board.leaving[model]):
            board.go(engine)


def _knots(board: Board) -> list[frozenset[int]]:
    """Return the engines that wait, in sets that do not wait for each other.

    Engines belong together if they wait for the same GPU, or if one waits for what goes when the
    other is ready.
    """
    root: dict[object, object] = {}

    def find(key: object) -> object:
        while root.setdefault(key, key) != key:
            key = root[key]
        return key

    for engine in board.pending:
        model = ("model", board.model[engine])
        root[find(model)] = find(("engine", engine))
        for gpu in board.gpus[engine]:
            if board.is_tight(gpu) or board.is_kept_out(engine):
                root[find(("gpu", gpu))] = find(model)
    for model_number, leaving in board.leaving.items():
        for engine in leaving:
            for gpu in board.gpus[engine]:
                if ("gpu", gpu) in root and ("model", model_number) in root:
                    root[find(("gpu", gpu))] = find(("model", model_number))
    knots: dict[object, set[int]] = {}
    for engine in board.pending:
        knots.setdefault(find(("engine", engine)), set()).add(engine)
    return [frozenset(knot) for knot in knots.values()]
