"""Check steps from scratch: in every order that they allow, with no code of what made them.

Steps may take any time, and a step that fails keeps all that wait for it from starting. So what is
checked is not a schedule but every set of steps that can have started and ended at some moment. The
worst of these sets for a GPU, or for a model, is a closure of greatest weight: one flow finds it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations

from colocate.errors import StepFaultError
from colocate.problem.checker.tolerance import ROUNDING
from colocate.replan.checker.closure import heaviest_closure, most_at_once
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import EngineStep, StepKind

TAKES = (StepKind.LOAD, StepKind.WAKE)
GIVES = (StepKind.UNLOAD, StepKind.SLEEP)
NEXT = {
    ("absent", StepKind.LOAD): "loading",
    ("loading", StepKind.WAIT): "ready",
    ("ready", StepKind.SWITCH): "open",
    ("open", StepKind.DRAIN): "closed",
    ("closed", StepKind.UNLOAD): "absent",
    ("closed", StepKind.SLEEP): "asleep",
    ("asleep", StepKind.WAKE): "ready",
}
"""What each step makes of an engine."""
UNDOES = {
    "load": "unload",
    "wait": None,
    "switch": "drain",
    "drain": "switch",
    "unload": "load",
    "sleep": "wake",
    "wake": "sleep",
}
"""What has to take back each kind of step."""


def faults_of_steps(found: SafeSteps) -> list[str]:
    """Return a sentence for everything that is wrong with steps; none if they are safe."""
    change, steps = found.change, found.steps
    faults = _faults_of_numbers(steps)
    if faults:
        return faults
    before = ancestors(steps)
    if before is None:
        return ["some steps wait for each other in a circle"]
    sure = _surely_before(steps)
    faults = _faults_of_engines(change, steps, sure)
    if faults:
        return faults
    allowed: dict[str, int] = {}
    for each in found.interruptions:
        allowed[each.model] = min(allowed.get(each.model, each.left), each.left)
    return [
        *_faults_of_memory(change, steps, sure),
        *_faults_of_serving(change, steps, sure, allowed),
        *_faults_of_company(change, steps, sure),
        *_faults_of_links(change, found, before),
        *_faults_of_times(steps),
    ]


def confirmed(found: SafeSteps) -> SafeSteps:
    """Return steps if nothing is wrong with them.

    Raises
    ------
    StepFaultError
        With the first fault.
    """
    faults = faults_of_steps(found)
    if faults:
        raise StepFaultError(f"the steps that were found are not safe: {faults[0]}")
    return found


def ancestors(steps: Sequence[EngineStep]) -> list[int] | None:
    """Return, as bits, all steps that are over before each step starts; None if there is a circle.

    A step that another must only be behind counts too, whether it succeeded or not.
    """
    found: list[int | None] = [None] * len(steps)
    for root in range(len(steps)):
        path = [root]
        on_path = {root}
        while path:
            number = path[-1]
            waits = (*steps[number].after, *steps[number].behind)
            missing = next((each for each in waits if found[each] is None), None)
            if missing is None:
                bits = 0
                for each in waits:
                    bits |= (found[each] or 0) | 1 << each
                found[number] = bits
                path.pop()
                on_path.discard(number)
            elif missing in on_path:
                return None
            else:
                path.append(missing)
                on_path.add(missing)
    return [bits or 0 for bits in found]


def _surely_before(steps: Sequence[EngineStep]) -> list[int]:
    """Return, as bits, all steps that have succeeded before each step starts."""
    found: list[int] = []
    for step in steps:
        bits = 0
        for each in step.after:
            bits |= found[each] | 1 << each
        found.append(bits)
    return found


def _faults_of_numbers(steps: Sequence[EngineStep]) -> list[str]:
    faults = []
    for place, step in enumerate(steps):
        if step.number != place:
            faults.append(f"step {place} has the number {step.number}")
        if any(not 0 <= each < place for each in step.after):
            faults.append(f"step {place} waits for a step that is not before it in the list")
        if any(not 0 <= each < len(steps) or each == place for each in step.behind):
            faults.append(f"step {place} is behind a step that is not in the list")
        undo = step.undo.value if step.undo is not None else None
        if undo != UNDOES[step.kind.value]:
            faults.append(f"step {place}, {step.kind.value}, would be taken back by {undo}")
    return faults


def _faults_of_engines(
    change: FleetChange, steps: Sequence[EngineStep], sure: Sequence[int]
) -> list[str]:
    """Check that each engine goes through its steps in turn, and that the right ones are left."""
    faults: list[str] = []
    states: dict[PlacedEngine, list[tuple[str, int]]] = {}
    for engine in change.now:
        states.setdefault(engine, []).append(("open", -1))
    for step in steps:
        mine = states.setdefault(step.engine, [])
        if step.kind is StepKind.LOAD:
            mine.append(("absent", -1))
        for place, (state, last) in enumerate(mine):
            after = NEXT.get((state, step.kind))
            if after is not None and (last < 0 or sure[step.number] >> last & 1):
                mine[place] = (after, step.number)
                break
        else:
            faults.append(
                f"step {step.number} would {step.kind.value} {step.engine.model!r} on "
                f"{', '.join(step.engine.gpus)}, which is not in a state for that"
            )
            return faults
    left = Counter({e: sum(s == "open" for s, _ in each) for e, each in states.items()})
    faults += [
        f"{engine.model!r} on {', '.join(engine.gpus)} is left half-way"
        for engine, each in states.items()
        if any(state not in ("open", "absent") for state, _ in each)
    ]
    if +left != Counter(change.then):
        faults.append("the engines that are left are not those that shall run")
    return faults


def _faults_of_memory(
    change: FleetChange, steps: Sequence[EngineStep], sure: Sequence[int]
) -> list[str]:
    faults = []
    for gpu, memory in change.memory_gb.items():
        first = sum(Fraction(e.held_gb) for e in change.now for place in e.gpus if place == gpu)
        takes = {
            step.number: Fraction(step.engine.held_gb)
            for step in steps
            if step.kind in TAKES and gpu in step.engine.gpus
        }
        gives = {
            step.number: Fraction(step.engine.held_gb)
            for step in steps
            if step.kind in GIVES and gpu in step.engine.gpus
        }
        limit = Fraction(memory) * (1 + ROUNDING)
        if first + sum(takes.values()) <= limit:
            continue
        worst = first + heaviest_closure(takes, gives, sure)
        if worst > limit:
            faults.append(f"gpu {gpu!r} can come to hold {float(worst):.9g} of {memory:.9g} GB")
    return faults


def _faults_of_serving(
    change: FleetChange,
    steps: Sequence[EngineStep],
    sure: Sequence[int],
    allowed: Mapping[str, int],
) -> list[str]:
    """Check that no model has fewer engines than before and after, but where that is stated."""
    faults = []
    now = Counter(engine.model for engine in change.now)
    then = Counter(engine.model for engine in change.then)
    for model, number in now.items():
        closing = {
            s.number: Fraction(1)
            for s in steps
            if s.kind is StepKind.DRAIN and s.engine.model == model
        }
        opening = {
            s.number: Fraction(1)
            for s in steps
            if s.kind is StepKind.SWITCH and s.engine.model == model
        }
        fewest = min(number, then[model], allowed.get(model, number))
        worst = number - heaviest_closure(closing, opening, sure)
        if worst < fewest:
            faults.append(f"model {model!r} can come to have {worst} engines, {fewest} at least")
    return faults


def _faults_of_company(
    change: FleetChange, steps: Sequence[EngineStep], sure: Sequence[int]
) -> list[str]:
    """Check that engines of one model, or of two that must be apart, never come to share a GPU.

    Those that share one before the first step are no fault of the steps: the rule may be new.
    """
    lives: list[tuple[PlacedEngine, int, int]] = []
    taken: dict[PlacedEngine, list[int]] = {}
    for engine in change.now:
        taken.setdefault(engine, []).append(-1)
    for step in steps:
        if step.kind in TAKES:
            taken.setdefault(step.engine, []).append(step.number)
        elif step.kind in GIVES:
            lives.append((step.engine, taken[step.engine].pop(0), step.number))
    lives += [(engine, begin, -1) for engine, begins in taken.items() for begin in begins]
    by_gpu: dict[str, list[tuple[PlacedEngine, int, int]]] = {}
    for life in lives:
        for gpu in life[0].gpus:
            by_gpu.setdefault(gpu, []).append(life)
    faults = []
    for (one, begin, end), (other, its_begin, its_end) in chain.from_iterable(
        combinations(here, 2) for here in by_gpu.values()
    ):
        if one.model != other.model and frozenset((one.model, other.model)) not in change.apart:
            continue
        if begin < 0 and its_begin < 0:
            continue
        first = end >= 0 and its_begin >= 0 and sure[its_begin] >> end & 1
        second = its_end >= 0 and begin >= 0 and sure[begin] >> its_end & 1
        if not (first or second):
            faults.append(f"{one.model!r} and {other.model!r} can come to share a GPU")
    return faults


def _faults_of_links(change: FleetChange, found: SafeSteps, before: Sequence[int]) -> list[str]:
    """Check that no machine, and not all of them together, load more at once than they may."""
    by_node: dict[str, list[int]] = {}
    for step in found.steps:
        if step.kind is StepKind.LOAD:
            by_node.setdefault(change.node_of.get(step.engine.gpus[0], ""), []).append(step.number)
    faults = []
    for node, loads in by_node.items():
        at_once = most_at_once(loads, before, found.times.loads_at_once)
        if at_once > found.times.loads_at_once:
            faults.append(f"machine {node!r} can come to load {at_once} engines at once")
    if (most := found.times.total_loads) is not None:
        loads = [number for numbers in by_node.values() for number in numbers]
        if (at_once := most_at_once(loads, before, most)) > most:
            faults.append(f"all machines can come to load {at_once} engines at once")
    return faults


def _faults_of_times(steps: Sequence[EngineStep]) -> list[str]:
    return [
        f"step {step.number} starts at {step.start:g} s, before step {each} is over"
        for step in steps
        for each in (*step.after, *step.behind)
        if steps[each].end > step.start
    ]
