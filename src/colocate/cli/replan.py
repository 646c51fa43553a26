"""`colocate replan`: a better placement close to the one that runs, and the way there."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.shared_options import (
    AsJson,
    Download,
    DrainSeconds,
    LoadsAtOnce,
    LoadSpeed,
    ReadySeconds,
    Seed,
    TotalSpeed,
    vector,
)
from colocate.outputs.emit.settings import Target

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet
    from colocate.replan.choice import MoveChoice
    from colocate.replan.replanning import Replanning
    from colocate.replan.steps.safe_steps import SafeSteps
    from colocate.solver.plan import Plan

SIZES = {"": 1.0, "B": 1e-9, "MB": 1e-3, "GB": 1.0, "TB": 1e3}
SIZES |= {"MIB": 2.0**20 / 1e9, "GIB": 2.0**30 / 1e9, "TIB": 2.0**40 / 1e9}
SPANS = {"": 1.0, "S": 1.0, "MIN": 60.0, "M": 60.0, "H": 3600.0, "D": 86400.0}


def replan(
    fleet: Annotated[Path, typer.Argument(help="Fleet file, as the fleet is now.")],
    old: Annotated[Path, typer.Option("--from", help="Plan file of what runs now.")],
    budget: Annotated[
        str | None, typer.Option(help="The most weights to load, such as 40GB.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Reach this pressure or ratio with the fewest bytes.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A model that may not move now (repeatable).")
    ] = None,
    drain: Annotated[
        list[str] | None,
        typer.Option(help="A GPU or node to leave; its engines run until moved (repeatable)."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="A GPU or node that is lost (repeatable).")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="fixed: engines keep their cache (vLLM, SGLang); elastic: kvcached.")
    ] = "fixed",
    lasts: Annotated[str, typer.Option(help="How long demand stays as it is, such as 1h.")] = "1h",
    uncertainty: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share by which that may be less.")
    ] = 0.5,
    rate_uncertainty: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=10.0,
            help="The share by which rates may be off, where the fleet does not say.",
        ),
    ] = 0.0,
    load_gb_per_second: LoadSpeed = 2.0,
    total_gb_per_second: TotalSpeed = None,
    loads_at_once: LoadsAtOnce = 1,
    ready_seconds: ReadySeconds = 60.0,
    drain_seconds: DrainSeconds = 30.0,
    always_serving: Annotated[
        bool, typer.Option("--always-serving", help="Refuse steps that interrupt a model.")
    ] = False,
    time_limit: Annotated[float, typer.Option(min=0.001, help="Seconds to search.")] = 2.0,
    seed: Seed = 0,
    download: Download = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the new plan and its fleet to this file, as JSON.")
    ] = None,
    steps: Annotated[
        Path | None, typer.Option(help="Write the steps, as commands, to this folder.")
    ] = None,
    to: Annotated[Target, typer.Option(help="What the commands are for.")] = Target.VLLM,
    running: Annotated[
        Path | None,
        typer.Option(help="The folder of the --steps that led to what runs now, if there is one."),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write a page (.html).")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the frontier to this file (.svg).", callback=vector)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find what moving a few models brings, whether it pays, and safe steps for it."""
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.cli.plan_input import read_valid_plan
    from colocate.inputs.fleet import read_fleet
    from colocate.outputs.replan.table import replan_table, steps_table
    from colocate.outputs.text.console import show, table_width
    from colocate.replan.choice import MoveTerms, choose
    from colocate.replan.placed_engine import checked_mode
    from colocate.replan.replan import replan as found_by
    from colocate.replan.replan import weights_of
    from colocate.replan.steps.step_times import StepTimes
    from colocate.replan.worth import rate_uncertainties

    check_outputs(fleet, (save, page, plot))
    if budget is not None and target is not None:
        raise typer.BadParameter("--budget and --target are both given, must be one of them")
    lasting = in_units(lasts, SPANS, "a time such as 90min or 2h, as --lasts must be")
    mode = checked_mode(memory)
    now, (plan, old_fleet) = read_fleet(fleet, download), read_valid_plan(old)
    _check_fleet(now, plan, old)
    expected = "a size such as 40GB or 40GiB, as --budget must be"
    limit = None if budget is None else in_units(budget, SIZES, expected)
    say_when_compiling()
    found = found_by(
        now,
        plan,
        budget_gb=limit,
        target=target,
        keep=keep or (),
        drain=drain or (),
        without=without or (),
        time_limit=time_limit,
        seed=seed,
    )
    terms = MoveTerms(
        mode,
        StepTimes(
            load_gb_per_second, total_gb_per_second, loads_at_once, ready_seconds, drain_seconds
        ),
        always_serving,
        weights_of(now),
        lasting,
        uncertainty,
        rate_uncertainties(now, rate_uncertainty),
        seed,
    )
    asked = limit is not None or target is not None
    choice = choose(found, old_fleet.problem, terms, asked=asked)
    if as_json:
        typer.echo(json.dumps(choice.as_dict(), indent=2, allow_nan=False))
    else:
        width = table_width()
        show(replan_table(choice, width), steps_table(choice.steps, width))
    _write(choice, now, save, page, plot)
    if steps is not None:
        new = (_new_plan(choice.found, now), now)
        _write_steps(to, choice.steps, (plan, old_fleet), new, steps, running)


def in_units(text: str, units: dict[str, float], expected: str) -> float:
    """Return a number with a unit, such as 40GB.

    Parameters
    ----------
    text
        The number and the unit, as the user gave them.
    units
        What each unit counts; without one the number is as it is.
    expected
        What the error says was expected.
    """
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][0-9]+)?)\s*([a-zA-Z]*)\s*", text)
    unit = match.group(2).upper() if match else None
    try:
        return float(match.group(1)) * units[unit] if match and unit is not None else float("x")
    except (ValueError, KeyError):
        raise typer.BadParameter(f"{text!r} is not {expected}") from None


def _check_fleet(fleet: "Fleet", plan: "Plan", file: Path) -> None:
    """Raise an error if a plan shares no GPU or no model with a fleet."""
    from colocate.errors import InputError
    from colocate.fault import Fault

    problem, places = fleet.problem, plan.placement
    shared = {
        "models": places.keys() & {model.name for model in problem.models},
        "GPUs": {g for on in places.values() for g in on} & {gpu.name for gpu in problem.gpus},
    }
    for what, known in shared.items():
        if not known:
            words = f"is of another fleet: none of its {what} is in this one"
            raise InputError(Fault(words, advice="give the plan that runs now", file=str(file)))


def _new_plan(found: "Replanning", fleet: "Fleet") -> "Plan":
    """Return the chosen placement as a plan for the whole fleet."""
    from colocate.problem.placement import Placement
    from colocate.problem.verify import verify
    from colocate.solver.plan import Plan, Status, with_ratios

    problem = fleet.problem
    places = Placement({m.name: found.placement.get(m.name, ()) for m in problem.models})
    verdict = verify(problem, places)
    plan = Plan(problem, Status.FEASIBLE, places, verdict.pressures, strategy="replan")
    return replace(with_ratios(plan), seconds=found.seconds)


def _write(
    choice: "MoveChoice",
    fleet: "Fleet",
    save: Path | None,
    page: Path | None,
    plot: Path | None,
) -> None:
    from colocate.outputs.plan.json_form import plan_json
    from colocate.outputs.replan.frontier_plot import frontier_svg
    from colocate.outputs.replan.page import replan_page
    from colocate.outputs.text.whole_files import write_text

    texts = {
        save: plan_json(_new_plan(choice.found, fleet), fleet) if save else "",
        page: replan_page(choice) if page else "",
        plot: frontier_svg(choice.found) if plot else "",
    }
    for path, text in texts.items():
        if path is not None:
            write_text(path, text)
            say_wrote(path)


def _write_steps(
    target: Target,
    way: "SafeSteps",
    old: "tuple[Plan, Fleet]",
    new: "tuple[Plan, Fleet]",
    folder: Path,
    before: Path | None,
) -> None:
    from colocate.outputs.emit.catalogue import emit
    from colocate.outputs.emit.emission import write_files
    from colocate.outputs.emit.engines.running_engines import read_engines
    from colocate.outputs.replan.commands import refuse_begun, steps_files
    from colocate.outputs.replan.step_writers import SINGLE
    from colocate.replan.checker.step_check import confirmed

    refuse_begun(folder)
    confirmed(way)
    running = read_engines(before / "new", target) if before else None
    found = steps_files(target, way, old, new, running)
    written = [
        *write_files(folder, found.files),
        *(write_files(folder / SINGLE, found.engines) if found.engines else ()),
        *emit(target, *new, found.settings).write(folder / "new"),
        *write_files(folder / "new", found.beside),
    ]
    for path in written:
        say_wrote(path)
    for note in found.notes:
        typer.echo(note, err=True)
