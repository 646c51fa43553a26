"""`colocate plan`: which model goes where."""

import shlex
import sys
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.exit_codes import INFEASIBLE, INTERRUPTED, NOTHING_FOUND
from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.shared_options import AsJson, Download, Seed, Workers, drawable

if TYPE_CHECKING:
    from collections.abc import Callable

    from colocate.advise.simulation.comparison import SimulatedWay
    from colocate.inputs.fleet import Fleet
    from colocate.problem.problem import Problem
    from colocate.solver.plan import Plan

USUAL, LONGEST, GOOD = 1.0, 10.0, 0.01
"""Seconds of a solve without options: `USUAL` if the gap is at most `GOOD` by then, else up to
`LONGEST`. People wait a second for a table; a gap of 1% is below the error of any load estimate."""
MOST_NAMES = 5
"""Names in a note, which should stay short."""
EARLY = 0.5
"""A search that took less than this share of its time would find no more in a longer one."""


def plan(
    fleet: Annotated[
        Path, typer.Argument(help="Fleet file (YAML or JSON), or - for standard input.")
    ],
    strategy: Annotated[
        str | None,
        typer.Option(help="Use this strategy (see `colocate strategies`) instead of the solver."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Seconds for the solver (default: 1, and up to 10 while the gap is above 1%).",
        ),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Stop once the plan is proven within this share of the optimum: 0.01 is 1%.",
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Pressures to minimise, the highest first, then the next (default: all).",
        ),
    ] = None,
    headroom: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Plan for so much more demand than the fleet states: 0.2 is a fifth more.",
        ),
    ] = None,
    percentile: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            max=100.0,
            help="Plan for this percent of the time: time windows with most demand are left out.",
        ),
    ] = None,
    workers: Workers = None,
    seed: Seed = 0,
    download: Download = False,
    save: Annotated[
        Path | None, typer.Option(help="Also write the plan to this file, as JSON.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write the plan to this file, as an HTML page.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the fleet to this file (.svg or .png).", callback=drawable),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate", help="Also replay ten minutes of requests (see `colocate simulate`)."
        ),
    ] = False,
    remedies: Annotated[
        bool,
        typer.Option(
            "--remedies/--no-remedies", help="If nothing fits, look for changes that would help."
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Place the models of a fleet on its GPUs and print the plan."""
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.cli.infeasible import explain_infeasible
    from colocate.cli.window_notes import say_about_windows
    from colocate.inputs.fleet import read_fleet, replanned_for
    from colocate.inputs.text_file import name_of
    from colocate.outputs.text.console import notes

    check_outputs(fleet, (save, report, plot))
    chosen = _strategy(strategy) if strategy else None
    stated = read_fleet(fleet, download)
    stated = replanned_for(stated, headroom, percentile)
    say_when_compiling()
    if chosen:
        answer = chosen(stated.problem, seed)
    else:
        answer = _solved(stated, time_limit, seed, workers, gap, levels)
    if save:
        _save(save, answer, stated)
    if report:
        _report(report, answer, stated)
    if plot and answer.placement:
        _plot(plot, answer, stated)
    _print(answer, stated, as_json, _replayed(answer, seed) if simulate else None)
    _say_notes(stated)
    say_about_windows(stated)
    if answer.placement:
        _say_why_latency_is_unknown(stated)
        _say_what_ends_queues(answer)
    if answer.placement and not chosen and _more_time_may_help(answer, time_limit, gap):
        notes().print("note: a longer --time-limit may improve the plan or its proof")
    if not answer.placement:
        notes().print(f"{name_of(fleet)}: {answer.reason}", markup=False)
        if remedies and not answer.interrupted:
            explain_infeasible(fleet, stated, time_limit, chosen is not None)
        raise typer.Exit(_code_without_placement(answer))


def _strategy(name: str) -> "Callable[[Problem, int], Plan]":
    """Return what places models by a strategy; the solver does without the catalogue."""
    from colocate.solver.place import place
    from colocate.solver.strategies import find_strategy

    found = find_strategy(name)
    return lambda problem, seed: place(problem, found, seed)


def _solved(
    fleet: "Fleet",
    time_limit: float | None,
    seed: int,
    workers: int | None,
    gap: float | None,
    levels: int | None,
) -> "Plan":
    """Solve, and show the progress."""
    from colocate.outputs.plan.table import improvement_line
    from colocate.outputs.text.console import notes
    from colocate.solver.solve import solve

    objective = fleet.problem.objective
    with notes().status("searching") as status:
        return solve(
            fleet.problem,
            time_limit=LONGEST if time_limit is None else time_limit,
            seed=seed,
            workers=workers,
            gap=_usual_gap if time_limit is None and gap is None else gap or 0.0,
            on_improvement=lambda found: status.update(improvement_line(found, objective)),
            levels=levels,
        )


def _usual_gap(seconds: float) -> float:
    return 0.0 if seconds < USUAL else GOOD


def _say_notes(fleet: "Fleet") -> None:
    """Print on stderr what to know about sizes, units, and formats that GPUs do not run."""
    from colocate.inputs.size_notes import models_without_tokens, size_notes
    from colocate.inputs.unit_notes import unit_notes
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.format_notes import format_notes
    from colocate.outputs.text.wording import listed, quoted

    for note, models in (*size_notes(fleet.spec.models).items(), *unit_notes(fleet).items()):
        names = listed([quoted(model) for model in models], MOST_NAMES)
        notes().print(f"note: {names}: {note}", markup=False)
    limits = [(name, limit) for name, found in fleet.format_limits.items() for limit in found]
    for note, _ in format_notes(limits):
        notes().print(f"note: {note}", markup=False)
    if without := models_without_tokens(fleet):
        found = f"{len(without)} of {len(fleet.models)} models state no tokens of a request"
        notes().print(f"note: {found}, so compute_limit does not count them", markup=False)


def _say_why_latency_is_unknown(fleet: "Fleet") -> None:
    """Print on stderr what is missing to predict latencies, if something is."""
    from colocate.inputs.known_requests import request_gaps
    from colocate.outputs.latency.words import gap_note
    from colocate.outputs.text.console import notes

    if gaps := request_gaps(fleet.spec):
        limited = any(model.tpot_slo for model in fleet.spec.models)
        notes().print(f"note: {gap_note(gaps, len(fleet.models), limited)}", markup=False)


def _say_what_ends_queues(answer: "Plan") -> None:
    """Print on stderr how models that are saturated even alone would keep up."""
    from colocate.advise.latency import predictions_of
    from colocate.advise.remedies.latency_changes import rounded_down
    from colocate.advise.remedies.lone_engines import fewest_replicas, highest_rate
    from colocate.outputs.plan.latency_words import keeping_up_line
    from colocate.outputs.text.console import notes

    problem = answer.problem
    saturated = {each.model for each in predictions_of(answer) if each.alone.saturated}
    for model in [model for model in problem.models if model.name in saturated][:MOST_NAMES]:
        rate = rounded_down(highest_rate(problem, model))
        told = keeping_up_line(model.name, fewest_replicas(problem, model), rate)
        notes().print(f"note: {told}", markup=False)


def _more_time_may_help(answer: "Plan", time_limit: float | None, gap: float | None) -> bool:
    """Return whether a longer search may find a better plan, or prove more.

    Parameters
    ----------
    answer
        What was found. Where a queue grows without end and the search stopped before its time, it
        had nothing left to try.
    time_limit, gap
        What the user asked for, if anything.
    """
    limit = LONGEST if time_limit is None else time_limit
    gave_up = isinf(answer.value) and answer.seconds < EARLY * limit
    return answer.gap > max(gap or 0.0, GOOD) and not gave_up


def _code_without_placement(answer: "Plan") -> int:
    from colocate.solver.plan import Status

    if answer.interrupted:
        return INTERRUPTED
    return INFEASIBLE if answer.status is Status.INFEASIBLE else NOTHING_FOUND


def _replayed(answer: "Plan", seed: int) -> "SimulatedWay | None":
    """Return a replay of a plan; None if there is nothing to replay."""
    from colocate.advise.simulation.simulate import MINUTES
    from colocate.cli.replay import simulated_plan
    from colocate.outputs.text.console import notes

    if not answer.placement:
        return None
    if not answer.problem.has_requests:
        notes().print("note: not simulated, since latency is not known")
        return None
    return simulated_plan(answer, 60.0 * MINUTES, seed)


def _print(
    answer: "Plan", fleet: "Fleet", as_json: bool, replay: "SimulatedWay | None" = None
) -> None:
    """Print the plan, and on stderr any false claim of an outside solver.

    Parameters
    ----------
    answer, fleet
        The plan, and what it is for.
    as_json
        Whether as JSON.
    replay
        What its users felt in a replay, if there was one.
    """
    from colocate.advise.latency import predictions_of
    from colocate.advise.service import services_of
    from colocate.outputs.plan.json_form import plan_json
    from colocate.outputs.plan.table import plan_table
    from colocate.outputs.plan.words import alarm_lines
    from colocate.outputs.simulation.json_form import simulation_data
    from colocate.outputs.simulation.table import fitting_width, simulation_table
    from colocate.outputs.text.console import notes, show, table_width

    if as_json:
        sharing = answer.problem.sharing
        data = simulation_data([replay], [answer.seed], sharing) if replay else None
        typer.echo(plan_json(answer, fleet, data))
    elif answer.placement:
        told = services_of(answer, fleet), predictions_of(answer)
        table = plan_table(answer, table_width(), *told)
        show(table, *([simulation_table([replay], True, fitting_width())] if replay else []))
    for line in alarm_lines(answer):
        notes().print(line, markup=False)


def _save(path: Path, answer: "Plan", fleet: "Fleet") -> None:
    """Write the plan with its fleet."""
    from colocate.outputs.plan.json_form import plan_json
    from colocate.outputs.text.whole_files import write_text

    write_text(path, plan_json(answer, fleet) + "\n")
    say_wrote(path)


def _report(path: Path, answer: "Plan", fleet: "Fleet") -> None:
    """Write the page, with the command that made it."""
    from colocate.outputs.report import compare, report_page
    from colocate.outputs.text.whole_files import write_text

    command = shlex.join(["colocate", *sys.argv[1:]])
    write_text(path, report_page(answer, fleet, compare(answer), command))
    say_wrote(path)


def _plot(path: Path, answer: "Plan", fleet: "Fleet") -> None:
    """Write the picture in the form that the file name ends in."""
    from colocate.outputs.plan.plot import plan_plot
    from colocate.outputs.text.whole_files import write_bytes

    write_bytes(path, plan_plot(answer, fleet, path.suffix.removeprefix(".")))
    say_wrote(path)
