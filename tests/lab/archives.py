"""Small archives made by hand: a case has the pressure 1, so that its optimum is its ratio."""

from math import inf

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.lab.messages import Answer, Attempt, Kind
from colocate.lab.program import Program

CRASH = "crash: NameError: name '_refine' is not defined"


def composed(start="Greedy(Order.LOAD)", each="", finish="", more=""):
    return (
        f'"""A program."""\n{more}\nSTARTS = ({start},)\nEACH = ({each})\nFINISH = ({finish})\n\n\n'
        "def compute_model_placement(gpu_num, models):\n    return run(STARTS, EACH, FINISH)\n"
    )


def case(name, ratio, failure=None, reason=CRASH):
    if failure is None:
        return CaseVerdict(name, 1.0, ratio, seconds=0.25, bound=ratio)
    return CaseVerdict(name, inf, ratio, seconds=0.25, failure=failure, reason=reason, bound=ratio)


def verdict(ratio, hidden=None, failed="", reason=CRASH, steady=True):
    """Two public cases and a hidden one; `failed` is part of the name of those that crash."""

    def judged(name, reached):
        crashed = Failure.CRASH if failed and failed in name else None
        return case(name, reached, crashed, reason)

    public = Tally((judged("case-1", ratio), judged("case-2", ratio)))
    unseen = Tally((judged("hidden-1", ratio if hidden is None else hidden),))
    return Verdict("tiny", public, unseen, (), steady=steady)


def program(number, source, ratio, parent=None, *, name=None, generation=0, **rest):
    parents = () if parent is None else (parent,)
    judged = verdict(ratio, **rest)
    return Program(number, name or f"named_{number}", "", source, judged, parents, generation)


def attempt(number, kind=Kind.DIFF, refusal=None, again=0):
    return Attempt(number, again, 1, kind, (0,), Answer("text", "somebody"), refusal)


def five_programs():
    """Fitness 0.90, 0.92, 0.95, 0.94, 0.96.

    `Descent(best=True)` gains 0.03 in a clean pair; `WorstPairSwaps` loses 0.01 and 0.02 among
    other changes; `Descent` gains 0.02 and loses 0.03, both clean.
    """
    best = "Descent(best=True),"
    return [
        program(0, composed(), 0.90),
        program(1, composed(each="Descent(),"), 0.92, 0),
        program(2, composed(each=best), 0.95, 1),
        program(3, composed(each=f"{best} PeakRelief(), WorstPairSwaps(),"), 0.94, 2),
        program(4, composed(each=f"{best} PeakRelief(), Annealing(),"), 0.96, 3),
    ]
