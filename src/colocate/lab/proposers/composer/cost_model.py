"""Estimates how long a composition takes as plain Python, so that no program is absurdly slow.

The factors are milliseconds of processor time, measured on cases of the public suite.
"""

from colocate.lab.proposers.composer.grammar import Composition, Improver, Start
from colocate.solver.construct.bisection import Bisection
from colocate.solver.improve.annealing import Annealing
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated
from colocate.solver.improve.kicks import Kick
from colocate.solver.improve.neighbourhood import LargeNeighbourhood

LONGEST = 60.0
"""Milliseconds per case that a composition may take."""


def milliseconds(composition: Composition) -> float:
    """Return roughly how long a composition takes for a case of the public suite."""
    starts = sum(map(_of_start, composition.starts))
    each = sum(map(_of_improver, composition.each))
    return starts + len(composition.starts) * each + sum(map(_of_improver, composition.finish))


def _of_start(start: Start) -> float:
    if isinstance(start, Bisection):
        return 0.1 * min(start.halvings, 40) * (1.0 + 0.8 * (len(start.packings) - 1))
    return 0.2


def _of_improver(block: Improver) -> float:
    match block:
        case Iterated(kick=Kick.RUIN):
            return block.steps * 0.08
        case Iterated():
            return block.steps * (_of_step(block.descent) + 0.02)
        case LargeNeighbourhood():
            return block.steps * (0.03 + 0.02 * block.ruin.others)
        case Annealing():
            return block.steps * (0.012 + 0.05 * block.ruins)
        case Descent():
            return 10 * _of_step(block)
    return 1.0


def _of_step(descent: Descent) -> float:
    return 0.12 if descent.best else 0.03
