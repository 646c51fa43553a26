"""The names of compositions."""

import re

from colocate.lab.patches.answer import LONGEST_NAME
from colocate.lab.proposers.composer.grammar import Composition, Improver, Start
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.packing import Packing
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated

AND_MORE = "_and_more"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def name_of(composition: Composition) -> str:
    """Return a name that says what a composition does, such as best_fit_virtual_then_descent."""
    starts, each, finish, _ = composition
    name = _of_start(starts[0]) if len(starts) == 1 else f"{_counted(len(starts))}_starts"
    links = ["_then_"] * len(each) + ["_finished_by_"] * len(finish)
    for link, block in zip(links, (*each, *finish), strict=True):
        longer = name + link + _of_improver(block)
        if len(longer) + len(AND_MORE) > LONGEST_NAME:
            return name + AND_MORE
        name = longer
    return name


def spoken(name: str) -> str:
    """Return the words of a name in any case: LargeNeighbourhood is `large neighbourhood`."""
    return " ".join(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _of_start(start: Start) -> str:
    if isinstance(start, Greedy):
        ahead = "_looking_ahead" if start.look is Look.RESULTING else ""
        return f"greedy_by_{start.order.name.lower()}{ahead}"
    if len(start.packings) == 1:
        return _of_packing(start.packings[0])
    return f"{_counted(len(start.packings))}_packings"


def _of_packing(packing: Packing) -> str:
    return f"{packing.fit.name}_fit_{packing.order.name}".lower()


def _of_improver(block: Improver) -> str:
    words = spoken(type(block).__name__).replace(" ", "_")
    if isinstance(block, Iterated):
        return f"{_of_descent(block.descent)}_with_{block.kick.name.lower()}"
    return _of_descent(block) if isinstance(block, Descent) else words


def _of_descent(descent: Descent) -> str:
    return f"{'steepest_' if descent.best else ''}{'smooth_' if descent.smooth else ''}descent"


def _counted(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)
