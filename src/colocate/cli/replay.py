"""What `colocate simulate` is asked, and how far it is."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import NamedTuple

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from colocate.advise.predict import checked_placement
from colocate.advise.simulation.comparison import SimulatedWay
from colocate.advise.simulation.other_ways import WAYS, other_way
from colocate.advise.simulation.replays import Watch
from colocate.advise.simulation.simulate import MINUTES, checked_minutes
from colocate.advise.simulation.ways import simulated_ways
from colocate.cli.replay_choices import LengthShape, RequestTimes
from colocate.inputs.plan_file import read_places
from colocate.inputs.text_file import naming
from colocate.inputs.trace.reading import Trace
from colocate.outputs.simulation.words import shown_span
from colocate.outputs.text.console import notes
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import (
    BurstDemand,
    DayDemand,
    Demand,
    PoissonDemand,
    TraceDemand,
)
from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.options import SimulateOptions
from colocate.solver.plan import Plan

DAY = 1440.0
"""Minutes."""
MANY_REQUESTS = 1e7
"""From so many on, a replay takes half a minute or more, and says so before it begins."""


class Recorded(NamedTuple):
    """Requests of a trace, as options state them."""

    trace: Path | None
    mapping: Sequence[str]
    start: float | None
    condense: float | None


class Drawn(NamedTuple):
    """Requests at the rates of a fleet, as options state them."""

    demand: RequestTimes | None
    variation: float | None
    lengths: LengthShape | None


@dataclass(frozen=True)
class AskedReplay:
    """Which requests to replay, and for how long they come."""

    demand: Demand
    seconds: float
    steady: bool
    """Whether they come as the law takes them to."""


def asked(recorded: Recorded, drawn: Drawn, minutes: float | None, replays: int) -> AskedReplay:
    """Return what options ask for.

    Parameters
    ----------
    recorded, drawn
        The requests, one way or the other.
    minutes
        For how long they come, if that is stated.
    replays
        How many there will be, each of which reads a trace anew.
    """
    span = None if minutes is None else 60.0 * checked_minutes(minutes)
    if recorded.trace is None:
        if recorded.mapping or recorded.start is not None or recorded.condense is not None:
            raise typer.BadParameter("--map, --start and --condense are about a --trace")
        usual = DAY if drawn.demand is RequestTimes.DAY else MINUTES
        steady = drawn.demand in (None, RequestTimes.POISSON)
        return AskedReplay(_drawn(drawn), span or 60.0 * usual, steady)
    if any(choice is not None for choice in drawn):
        raise typer.BadParameter("--demand, --variation and --lengths are not about a --trace")
    if str(recorded.trace) == "-" and replays > 1:
        raise typer.BadParameter("--trace - can be read once; give a file to replay it again")
    names = dict(_pair(text) for text in recorded.mapping)
    condense = 1.0 if recorded.condense is None else recorded.condense
    trace = Trace(recorded.trace, names)
    return AskedReplay(TraceDemand(trace, recorded.start or 0.0, condense), span or inf, False)


def _pair(text: str) -> tuple[str, str]:
    name, equals, model = text.partition("=")
    if not (name and equals and model):
        raise typer.BadParameter(f"--map {text}, must be NAME=MODEL")
    return name, model


def _drawn(drawn: Drawn) -> Demand:
    usual = PoissonDemand()
    prompts, outputs = usual.prompts, usual.outputs
    if drawn.lengths is not None:
        prompts = outputs = LengthDistribution(drawn.lengths.value)
    if drawn.demand is RequestTimes.DAY:
        varied = 1.0 if drawn.variation is None else drawn.variation
        return DayDemand(prompts, outputs, variation=varied)
    if drawn.demand is RequestTimes.BURSTS:
        varied = BurstDemand.variation if drawn.variation is None else drawn.variation
        return BurstDemand(prompts, outputs, variation=varied)
    if drawn.variation is not None:
        raise typer.BadParameter("--variation is about --demand bursts or day")
    return PoissonDemand(prompts, outputs)


def all_ways(
    name: str,
    problem: Problem,
    placement: Mapping[str, Sequence[str]],
    others: Sequence[str],
    seed: int,
) -> dict[str, Placement]:
    """Return the placements to simulate by name, the first one in front.

    Parameters
    ----------
    name, problem, placement
        What is simulated.
    others
        Names of other ways, or files of plans or placements.
    seed
        Decides every random choice.
    """
    with naming(name):
        first = checked_placement(problem, placement)
    ways = {name: first}
    for other in dict.fromkeys(others):
        if other in WAYS or not (Path(other).suffix or Path(other).exists()):
            ways[other] = other_way(other, problem, first, seed)
        else:
            places = read_places(other)
            with naming(other):
                ways[other] = checked_placement(problem, places)
    return ways


def simulated(
    problem: Problem,
    ways: Mapping[str, Placement],
    requests: AskedReplay,
    options: SimulateOptions,
    seeds: Sequence[int],
    workers: int | None,
) -> tuple[SimulatedWay, ...]:
    """Simulate, and show how far it is.

    Parameters
    ----------
    problem, ways
        The models, and the placements by name.
    requests
        Which requests, and for how long.
    options
        What engines, routers and caches do.
    seeds
        Each gives other requests.
    workers
        Threads.
    """
    with progress_bar(requests.seconds * len(ways) * len(seeds)) as watch:
        return simulated_ways(
            problem, ways, requests.demand, requests.seconds, options, seeds, workers, watch
        )


def simulated_plan(plan: Plan, seconds: float, seed: int) -> SimulatedWay | None:
    """Simulate a plan at the rates of its models; None if an interrupt came first.

    Parameters
    ----------
    plan
        Its placement is simulated.
    seconds
        For how long requests come.
    seed
        Decides on all that is random.
    """
    requests = AskedReplay(PoissonDemand(), seconds, True)
    ways = {"this plan": plan.placement}
    found = simulated(plan.problem, ways, requests, SimulateOptions(), [seed], None)
    return found[0] if found else None


@contextmanager
def progress_bar(seconds: float) -> Iterator[Watch | None]:
    """Show a bar on a terminal, and nothing elsewhere; yields what moves it.

    Parameters
    ----------
    seconds
        To simulate in all; infinite if nobody knows.
    """
    console = notes()
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("simulating {task.fields[told]}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=seconds if isfinite(seconds) else None, told="")
        yield lambda done: progress.update(task, completed=done, told=shown_span(done))


def say_how_many(problem: Problem, requests: AskedReplay, replays: int) -> None:
    """Print on stderr how many requests there will be, where it is worth knowing before.

    Parameters
    ----------
    problem
        The models.
    requests
        Which requests, and for how long.
    replays
        How often they are replayed.
    """
    rate = sum(model.requests.rate for model in problem.models if model.requests)
    expected = rate * requests.seconds * replays
    if isfinite(expected) and expected >= MANY_REQUESTS:
        notes().print(
            f"note: about {expected / 1e6:,.0f} million requests to replay; Ctrl-C shows what was "
            "simulated by then"
        )


def say_what_is_missing(
    found: Sequence[SimulatedWay], ways: int, seeds: int, requests: AskedReplay
) -> None:
    """Print on stderr what an interrupt left undone, and what intervals do not tell.

    Parameters
    ----------
    found
        What was simulated.
    ways, seeds
        How many placements and seeds were asked for.
    requests
        Which requests.
    """
    first = found[0].found
    whole = first.complete and len(first.runs) == seeds and len(found) == ways
    if not whole:
        told = f"{len(first.runs)} of {seeds} seeds" if first.complete else "a part of one seed"
        span = shown_span(first.seconds)
        rest = "" if len(found) == ways else ", nothing to compare"
        notes().print(
            f"note: interrupted: this is what was simulated so far ({told}, {span}{rest})"
        )
    if seeds > 1 and isinstance(requests.demand, TraceDemand):
        notes().print(
            "note: a trace that names its models is the same for every seed, so intervals say "
            "nothing about other days"
        )
