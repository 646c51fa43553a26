"""The possible compositions: blocks of the catalogue, their parameters, and their limits."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.orders import Order
from colocate.solver.construct.packing import Fit, Packing
from colocate.solver.improve.accept import Accept
from colocate.solver.improve.annealing import Annealing
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated
from colocate.solver.improve.kicks import Kick
from colocate.solver.improve.neighbourhood import LargeNeighbourhood
from colocate.solver.improve.pairs import PairRebalance, VariableNeighbourhood
from colocate.solver.improve.relief import IdleRelief, PeakRelief, WorstPairSwaps
from colocate.solver.improve.ruin import Recreate, Ruin

Start = Greedy | Bisection
Improver = (
    Descent
    | Iterated
    | LargeNeighbourhood
    | Annealing
    | PairRebalance
    | VariableNeighbourhood
    | PeakRelief
    | WorstPairSwaps
    | IdleRelief
)
Path = tuple[int, ...]
"""A position in a composition: which part, which part of that, and so on."""

STARTS: dict[type[Start], float] = {Greedy: 1.0, Bisection: 1.0}
"""Blocks that begin, and how likely each is."""

IMPROVERS: dict[type[Improver], float] = {
    Descent: 3.0,
    Iterated: 2.0,
    LargeNeighbourhood: 1.5,
    Annealing: 1.5,
    PairRebalance: 1.0,
    VariableNeighbourhood: 1.0,
    PeakRelief: 1.0,
    WorstPairSwaps: 1.0,
    IdleRelief: 0.5,
}
"""Blocks that improve, and how likely each is."""

RANDOM = (Iterated, LargeNeighbourhood, Annealing, VariableNeighbourhood)
"""Blocks that make random choices."""

GREEDY_ORDERS = tuple(order for order in Order if order is not Order.VIRTUAL)
"""Without a target there is no virtual size."""

YES_OR_NO = (False, True)

CHOICES: dict[type, dict[str, tuple[Any, ...]]] = {
    Greedy: {"order": GREEDY_ORDERS, "look": tuple(Look)},
    Packing: {"fit": tuple(Fit), "order": tuple(Order)},
    Bisection: {"halvings": (3, 6, 12, 50)},
    Descent: {
        "relocate": YES_OR_NO,
        "swap": YES_OR_NO,
        "best": YES_OR_NO,
        "smooth": YES_OR_NO,
        "guard": (0.9, 0.99, 1.0),
    },
    Accept: {"smoother": YES_OR_NO, "equal": (0.0, 0.1, 1.0), "worse": (0.0, 0.1, 0.2)},
    Ruin: {
        "others": (1, 2, 3),
        "more_when_stalled": (0, 1),
        "recreate": tuple(Recreate),
        "guided": YES_OR_NO,
        "share": (0.99, 1.0),
    },
    Iterated: {
        "kick": tuple(Kick),
        "steps": (25, 100, 300, 1000),
        "patience": (10, 20, 30),
    },
    LargeNeighbourhood: {"steps": (25, 100, 500), "patience": (10, 20, 30)},
    Annealing: {
        "penalty": (0.01, 0.1, 0.3),
        "bias": (0.0, 0.25, 0.5),
        "ruins": (0.0, 0.1, 0.3),
        "steps": (250, 1000, 4000),
        "hot": (0.02, 0.05, 0.1),
        "cold": (0.0005, 0.002),
    },
    PairRebalance: {"rounds": (5, 20, 100)},
    VariableNeighbourhood: {"shuffles": (5, 20, 50)},
    PeakRelief: {"passes": (2, 4, 8), "targets": (1, 2, 4), "pool": (6, 12)},
    WorstPairSwaps: {"rounds": (4, 12, 40)},
    IdleRelief: {"rounds": (40, 400)},
}
"""The possible values of parameters; all others stay at their default."""

EFFORTS = ("halvings", "passes", "rounds", "shuffles", "steps")
"""Parameters that cost time: a new block begins with the lowest."""

MOST_STARTS = 3
MOST_PACKINGS = 6
MOST_IMPROVERS = 3
"""More blocks than this take longer than they gain, as plain Python."""


class Composition(NamedTuple):
    """The blocks of a strategy, and the seed of its random choices."""

    starts: tuple[Start, ...]
    each: tuple[Improver, ...] = ()
    """Blocks that improve every start."""
    finish: tuple[Improver, ...] = ()
    """Blocks that improve the best of them."""
    seed: int = 0


def parts(whole: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield everything in a composition that has parameters with an effect, and its place."""
    if type(whole) in CHOICES:
        yield path, whole
    if isinstance(whole, tuple):
        fields = getattr(whole, "_fields", range(len(whole)))
        for place, field in enumerate(fields):
            if matters(whole, field):
                yield from parts(whole[place], (*path, place))


def matters(part: Any, field: Any) -> bool:
    """Whether a parameter has an effect beside the others of its block."""
    match part:
        case Iterated():
            return field not in ("ruin", "accept") or part.kick is Kick.RUIN
        case Annealing():
            return field != "ruin" or part.ruins > 0.0
        case Accept():
            return field != "smoother" or part.equal < 1.0
        case Descent():
            return field != "guard" or part.swap
        case VariableNeighbourhood():
            return field not in ("relocate", "swap")
    return True


def replaced(whole: Any, path: Path, new: Any) -> Any:
    """Return a composition, or a part of one, with something new at a place.

    Parameters
    ----------
    whole
        A composition or a part of one.
    path
        The place.
    new
        The part to put there.
    """
    if not path:
        return new
    items = list(whole)
    items[path[0]] = replaced(items[path[0]], path[1:], new)
    return type(whole)(*items) if hasattr(whole, "_fields") else tuple(items)


def distinct(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return every item once, in the order of first appearance.

    Named tuples of two kinds compare equal if their values do, so this compares their text.
    """
    return tuple({repr(item): item for item in items}.values())


def is_sound(composition: Composition) -> bool:
    """Whether a composition has a start, nothing twice, nothing without effect, not too much."""
    starts, each, finish, _ = composition
    return (
        _is_set(starts, MOST_STARTS)
        and all(len(blocks) <= MOST_IMPROVERS for blocks in (each, finish))
        and all(len(distinct(pair)) == 2 for pair in pairwise((*each, *finish)))
        and all(_has_effect(part) for _, part in parts(composition))
    )


def _has_effect(part: Any) -> bool:
    match part:
        case Bisection():
            return _is_set(part.packings, MOST_PACKINGS)
        case Descent():
            return part.relocate or part.swap
    return True


def _is_set(items: tuple[object, ...], most: int) -> bool:
    return 1 <= len(items) == len(distinct(items)) <= most
