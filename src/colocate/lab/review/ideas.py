"""Mechanisms worth trying that no program of an archive has yet."""

from dataclasses import dataclass

from colocate.lab.review.mechanism import Role


@dataclass(frozen=True)
class Idea:
    """A mechanism that a program may lack.

    Parameters
    ----------
    name
        As reviews call it, without settings.
    advice
        What to do, as the end of a sentence.
    beside
        The roles of mechanisms beside which it belongs, or a constant of a composition.
    """

    name: str
    advice: str
    beside: tuple[Role | str, ...]


OF_ANY_PROGRAM = (
    Idea(
        "swap",
        "exchange two items where moving a single one no longer helps",
        (Role.SEARCH, Role.CHOICE),
    ),
    Idea(
        "ruin and recreate",
        "empty a part of the answer, the worst one among them, and fill it again",
        (Role.PERTURBATION, Role.SEARCH),
    ),
    Idea(
        "sum of squares",
        "among equal results take the one with the lower sum of squares, which evens them out",
        (Role.ACCEPTANCE, Role.CHOICE, Role.SEARCH),
    ),
    Idea(
        "annealing",
        "accept a worse result with a probability that falls from step to step",
        (Role.ACCEPTANCE, Role.SEARCH),
    ),
    Idea(
        "restarts",
        "start several times, each time from another random order, and keep the best result",
        (Role.PERTURBATION, Role.ORDER, Role.START),
    ),
    Idea(
        "patience",
        "count the rounds without a gain, and after some of them make a random change",
        (Role.PERTURBATION, Role.SEARCH),
    ),
    Idea(
        "bisection",
        "halve the interval of a target value, and test whether the target can be reached",
        (Role.ORDER, Role.CHOICE),
    ),
    Idea(
        "best of all",
        "rate all candidates of a step and take the best, rather than the first that is better",
        (Role.CHOICE, Role.SEARCH),
    ),
    Idea(
        "move",
        "move single items after the first answer is complete, as long as that helps",
        (Role.CHOICE, Role.ORDER),
    ),
)
"""Ways of local search that serve most tasks, roughly by how often they paid in published runs."""

OF_A_COMPOSITION = (
    Idea("LargeNeighbourhood", "ruins and recreates GPUs again and again", ("EACH",)),
    Idea("Iterated", "descends, and kicks when it stalls", ("EACH",)),
    Idea("Annealing", "accepts worse placements less and less", ("EACH",)),
    Idea("Bisection", "bisects the pressure", ("STARTS",)),
    Idea("VariableNeighbourhood", "moves, then swaps, then shuffles pairs", ("EACH",)),
    Idea("PairRebalance", "rebalances the highest GPU with others", ("EACH",)),
    Idea("WorstPairSwaps", "swaps between the two highest GPUs", ("FINISH",)),
    Idea("PeakRelief", "moves a few heavy models off the highest GPU", ("FINISH",)),
    Idea("Descent", "moves and swaps off the highest GPU", ("EACH",)),
    Idea("IdleRelief", "moves idle models off the highest GPU", ("FINISH",)),
)
"""Blocks of the catalogue that improve placements."""
