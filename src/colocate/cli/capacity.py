"""`colocate capacity`: how few GPUs, or how cheap a mix of them, reach a pressure or targets."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.advise.capacity.objective import By
from colocate.cli.exit_codes import INFEASIBLE, NOTHING_FOUND
from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.shared_options import AsJson, Download, Seed, Workers, drawable

if TYPE_CHECKING:
    from colocate.advise.capacity.question import CapacityQuestion
    from colocate.outputs.capacity.words import CapacityReport

FOR_CURVE = 0.3
"""The share of the time limit that the curve of a plot gets: the answer comes first."""


def capacity(
    fleet: Annotated[
        Path, typer.Argument(help="Fleet file; its gpus are the kinds to choose from.")
    ],
    pressure: Annotated[float | None, typer.Option(help="The highest pressure allowed.")] = None,
    score_of: Annotated[
        str | None,
        typer.Option(help="Instead of --pressure: what this strategy reaches on the whole fleet."),
    ] = None,
    tpot: Annotated[
        float | None,
        typer.Option(help="Seconds for each output token, for models without a tpot_slo."),
    ] = None,
    ttft: Annotated[
        float | None,
        typer.Option(help="Seconds to the first output token, for models without a ttft_slo."),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="Minimise the number of GPUs or the price "
            "(default: gpus for one kind, price for several)."
        ),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(help="KIND=DOLLARS per hour, instead of the catalogue's price (repeatable)."),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, help="The most GPUs to consider (default: more than enough)."),
    ] = None,
    whole_machines: Annotated[
        bool, typer.Option("--whole-machines", help="Take all GPUs of a node or none.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=0.001, help="Seconds for the whole search.")
    ] = 10.0,
    workers: Workers = None,
    seed: Seed = 0,
    download: Download = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the plan and its fleet to this file, as JSON.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the values over GPUs or price to this file (.svg or .png).",
            callback=drawable,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the fewest GPUs, or the cheapest mix, that reach a pressure and keep latency targets."""
    from colocate.advise.capacity.asked_targets import with_asked_pressure, with_asked_targets
    from colocate.advise.capacity.fleet_sizes import FleetSizes
    from colocate.advise.capacity.question import question_of, wanted_pressure
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.text_file import naming
    from colocate.outputs.capacity.words import reason
    from colocate.outputs.text.console import notes
    from colocate.solver.plan import Status

    _check_usage(pressure, score_of)
    _check_seconds(tpot, ttft)
    check_outputs(fleet, (save, plot))
    as_written = read_fleet(fleet, download)
    with naming(fleet):
        stated = with_asked_targets(as_written, tpot, ttft)
    no_pressure = (pressure, score_of, stated.spec.most_pressure) == (None, None, None)
    if no_pressure and not stated.problem.limits_latency:
        raise typer.BadParameter(
            "give --pressure, --tpot, --ttft, or --score-of with a strategy such as greedy"
        )
    say_when_compiling()
    wanted = wanted_pressure(stated, pressure, score_of, seed)
    stated = with_asked_pressure(stated, wanted[0])
    with naming(fleet):
        sizes = FleetSizes(stated, whole_machines)
    question = question_of(sizes, wanted, by, price or [], most)
    if stated.problem.sleepers:
        notes().print("note: models that may sleep are kept awake", markup=False)
    report = _searched(question, time_limit, seed, workers, plot is not None)
    _written(report, question, save, plot, as_json)
    if report.answer.best is None:
        notes().print(f"{fleet}: {reason(report.answer)}", markup=False)
        raise typer.Exit(INFEASIBLE if report.answer.status is Status.INFEASIBLE else NOTHING_FOUND)


def _check_usage(pressure: float | None, score_of: str | None) -> None:
    """Refuse options that mean nothing before any work is done."""
    from colocate.advise.capacity.question import named_strategy

    if pressure is not None and score_of is not None:
        raise typer.BadParameter("give only one of --pressure and --score-of")
    if pressure is not None and not (isfinite(pressure) and pressure > 0.0):
        raise typer.BadParameter(f"--pressure {pressure}, must be a finite number > 0")
    if score_of is not None:
        named_strategy(score_of)


def _check_seconds(tpot: float | None, ttft: float | None) -> None:
    for name, value in (("--tpot", tpot), ("--ttft", ttft)):
        if value is not None and not (isfinite(value) and value > 0.0):
            raise typer.BadParameter(f"{name} {value}, must be a finite number of seconds > 0")


def _searched(
    question: "CapacityQuestion", time_limit: float, seed: int, workers: int | None, curve: bool
) -> "CapacityReport":
    """Search, and show which mixes were tried."""
    from rich.markup import escape

    from colocate.advise.capacity.mixes import least_cost
    from colocate.advise.capacity.question import mixes_of_curve
    from colocate.advise.capacity.search import CapacitySearch
    from colocate.outputs.capacity.words import CapacityReport, named, verdict
    from colocate.outputs.text.console import notes

    market, kinds = question.market(), question.sizes.kinds
    with notes().status("searching") as status:
        search = CapacitySearch(
            market,
            question.pressure,
            question.most,
            time_limit=time_limit * (1.0 - FOR_CURVE) if curve else time_limit,
            seed=seed,
            workers=workers,
            on_trial=lambda trial: status.update(
                escape(f"{named(kinds, trial.mix)}: {verdict(trial)}")
            ),
        )
        answer = search.answer()
        if curve:
            mixes = mixes_of_curve(market, answer.best.mix if answer.best else None, question.most)
            answer = search.with_curve(answer, mixes, FOR_CURVE * time_limit)
    floor = least_cost(search.needs, question.costs())
    targets = question.sizes.targets
    return CapacityReport(
        answer, kinds, question.prices, question.by, question.asked, floor, targets
    )


def _written(
    report: "CapacityReport",
    question: "CapacityQuestion",
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Write and print what was asked for."""
    from dataclasses import replace

    from colocate.advise.latency import predictions_of
    from colocate.advise.service import services_of
    from colocate.outputs.capacity.json_form import capacity_json
    from colocate.outputs.capacity.table import capacity_table
    from colocate.outputs.plan.json_form import plan_json
    from colocate.outputs.text.console import show, table_width
    from colocate.outputs.text.whole_files import write_bytes, write_text

    best = report.answer.best
    fleet = question.sizes.fleet(best.mix) if best else None
    found = report.answer.plan
    plan = replace(found, problem=fleet.problem) if found and fleet else None
    if save and plan and fleet:
        write_text(save, plan_json(plan, fleet) + "\n")
        say_wrote(save)
    if plot:
        from colocate.outputs.capacity.plot import capacity_plot

        write_bytes(plot, capacity_plot(report, plot.suffix.removeprefix(".")))
        say_wrote(plot)
    if as_json:
        typer.echo(capacity_json(report, plan, fleet))
    elif best:
        services = services_of(plan, fleet) if plan and fleet else ()
        predictions = predictions_of(plan) if plan else ()
        show(capacity_table(report, table_width(), services, predictions))
