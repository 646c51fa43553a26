"""`colocate observe`: demand and latencies that were measured, and a fleet file from them."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from colocate.cli.output_files import check_outputs, refuse_to_replace, say_wrote
from colocate.cli.prometheus_options import (
    TOKEN,
    EngineVersion,
    ModelLabel,
    NameMap,
    NamesFile,
    Where,
    mapping_of,
    pairs,
    prometheus_question,
)
from colocate.cli.shared_options import AsJson, Download, PageFile, drawable
from colocate.errors import InputError

MOST_OF_A_KIND = 20_000
"""GPUs in a fleet: more are a slip."""

if TYPE_CHECKING:
    from colocate.advise.planned import PlannedModel
    from colocate.inputs.huggingface import ConfigLookup
    from colocate.inputs.observation.demand_changes import DemandChanges
    from colocate.inputs.observation.observation import Observation
    from colocate.inputs.observation.together import Correlation
    from colocate.inputs.observation.windows import WindowBins


class _Asked(NamedTuple):
    """What options ask of a server."""

    mapping: dict[str, str]
    window: str | None
    step: float | None
    where: str
    labels: list[str] | None
    names: Path | None
    engines: list[str] | None

    @property
    def about_prometheus(self) -> bool:
        """Whether some of it makes sense for Prometheus alone."""
        return any((self.step, self.where, self.labels, self.names, self.engines))


def observe(
    source: Annotated[
        str,
        typer.Argument(
            help="A trace of requests (CSV, - for standard input), the address of a Prometheus "
            "server, or that of kvcached's router with /traffic/stats."
        ),
    ],
    mapping: NameMap = None,
    window: Annotated[
        str | None, typer.Option(help="How far to look back (default: 1h; 1m with kvcached).")
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(help="Prometheus: seconds of a bin (default: chosen by window and scrapes)."),
    ] = None,
    where: Where = "",
    label: ModelLabel = None,
    names: NamesFile = None,
    engine: EngineVersion = None,
    fleet: Annotated[
        Path | None, typer.Option(help="Compare with the demand that this fleet file states.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was measured into the fleet file.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option(help="Write a new fleet file with all models; needs --gpus.")
    ] = None,
    gpus: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=NUMBER", help="--write: GPUs, such as H100-80GB=8."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="--write: replace the file if it is there.")
    ] = False,
    windows: Annotated[
        str | None,
        typer.Option(
            help="--update and --write: demand in time windows: a number of equal parts, or day or "
            "week for their hours (UTC)."
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Compare with what this plan file predicts.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Also draw it in this file (.svg or .png).", callback=drawable),
    ] = None,
    page: PageFile = None,
    download: Download = False,
    as_json: AsJson = False,
) -> None:
    """Measure demand: rates, tokens, bursts, common peaks, and how predictable they are."""
    from colocate.inputs.observation.together import correlations
    from colocate.inputs.observation.windows import windows_in
    from colocate.outputs.observation.json_form import observation_data
    from colocate.outputs.observation.words import note_line
    from colocate.outputs.text.console import notes

    if update and fleet is None:
        raise typer.BadParameter("--update needs --fleet")
    if (write is None) != (not gpus):
        raise typer.BadParameter("--write and --gpus KIND=NUMBER go together")
    if windows is not None and not (update or write):
        raise typer.BadParameter("--windows is about --update or --write")
    if force and write is None:
        raise typer.BadParameter("--force is about --write")
    check_outputs(Path(source), (write, plot, page))
    if write is not None:
        refuse_to_replace(write, force)
    numbers = _gpu_numbers(gpus)
    asked = _Asked(mapping_of(mapping), window, step, where, label, names, engine)
    found = _observed(source, asked)
    chosen = windows_in(found, windows) if windows else ()
    pairs = correlations(found)
    changed = _update_of(fleet, found, chosen, download) if fleet else None
    planned = _planned(plan, found) if plan else None
    if as_json:
        data = observation_data(found, pairs, changed, planned)
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        _show(found, pairs, changed, planned)
    for each in found.notes:
        notes().print(f"note: {note_line(each)}", markup=False)
    _say(found, changed, bool(windows))
    if plot:
        from colocate.outputs.observation.plot import observation_plot
        from colocate.outputs.text.whole_files import write_bytes

        write_bytes(plot, observation_plot(found, pairs, plot.suffix.removeprefix(".")))
        say_wrote(plot)
    if page:
        from colocate.outputs.observation.page import observation_page
        from colocate.outputs.text.whole_files import write_text

        shown = (found.source if each == source else each for each in sys.argv[1:])
        command = shlex.join(["colocate", *shown])  # an address may have a password
        write_text(page, observation_page(found, pairs, planned, command))
        say_wrote(page)
    if write:
        _write(write, found, numbers, chosen)
    if update and fleet and changed:
        _update(fleet, changed, download, not as_json)


def _gpu_numbers(texts: list[str] | None) -> dict[str, int]:
    """Return how many GPUs of each kind there are."""
    from colocate.inputs.gpu_catalogue import find_accelerator

    form = "KIND=NUMBER, such as H100-80GB=8"
    numbers = {}
    for kind, number in pairs("--gpus", form, texts):
        if not (number.isascii() and number.isdigit() and 0 < int(number) <= MOST_OF_A_KIND):
            most = f"a number from 1 to {MOST_OF_A_KIND:,}"
            raise typer.BadParameter(f"--gpus {kind}={number}, must be {form}, with {most}")
        numbers[find_accelerator(kind).kind] = int(number)
    return numbers


def _observed(source: str, asked: _Asked) -> "Observation":
    """Return what a source tells, whatever kind it is of."""
    from colocate.inputs.calibration.metrics_sources import is_url, window_seconds
    from colocate.inputs.observation.observe import PROMETHEUS_WINDOW, is_router, observe

    router = is_router(source)
    if asked.about_prometheus and (router or not is_url(source)):
        raise typer.BadParameter(
            "--step, --where, --label, --names and --engine are about a Prometheus server"
        )
    if not is_url(source):
        if asked.window is not None:
            raise typer.BadParameter("--window is about a server; a trace is read whole")
        return observe(source, asked.mapping)
    seconds = window_seconds(asked.window) if asked.window else None
    if router:
        return observe(source, asked.mapping, seconds)
    question = prometheus_question(
        seconds or PROMETHEUS_WINDOW,
        asked.mapping,
        asked.where,
        asked.labels,
        asked.names,
        asked.engines,
        asked.step,
    )
    return observe(source, question=question, token=os.environ.get(TOKEN))


def _update_of(
    fleet: Path, found: "Observation", windows: "tuple[WindowBins, ...]", download: bool
) -> "DemandChanges":
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.observation.demand_changes import demand_changes
    from colocate.inputs.text_file import read_text
    from colocate.inputs.yaml_text import parse_yaml

    models = read_fleet(fleet, download).spec.models
    return demand_changes(models, found, windows, parse_yaml(read_text(fleet))["models"])


def _planned(plan: Path, found: "Observation") -> "tuple[PlannedModel, ...]":
    from colocate.advise.planned import against_plan
    from colocate.inputs.plan_file import MAKES_A_PLAN, read_placed_fleet
    from colocate.inputs.text_file import naming

    fleet, places = read_placed_fleet(plan, MAKES_A_PLAN)
    with naming(plan):
        return against_plan(fleet, places, found)


def _show(
    found: "Observation",
    pairs: "tuple[Correlation, ...]",
    changed: "DemandChanges | None",
    planned: "tuple[PlannedModel, ...] | None",
) -> None:
    from colocate.outputs.observation.table import observation_table, planned_table, update_table
    from colocate.outputs.simulation.table import fitting_width
    from colocate.outputs.text.console import show

    width = fitting_width()
    parts = [observation_table(found, pairs, width)]
    if planned:
        parts.append(planned_table(planned, width))
    if changed and changed.fields:
        parts.append(update_table(changed, width))
    show(*parts)


def _say(found: "Observation", changed: "DemandChanges | None", windows: bool) -> None:
    """Print what a reader must know besides."""
    from colocate.outputs.observation.words import trust_line, update_lines
    from colocate.outputs.text.console import notes

    lines = list(update_lines(changed)) if changed else []
    if windows and (doubt := trust_line(found)):
        lines.append(doubt)
    for line in lines:
        notes().print(f"note: {line}", markup=False)


def _write(
    path: Path,
    found: "Observation",
    gpus: dict[str, int],
    windows: "tuple[WindowBins, ...]",
) -> None:
    """Write a new fleet file, and say what is to fill in."""
    from colocate.inputs.fleet import NO_LOOKUP
    from colocate.outputs.observation.fleet_draft import fleet_draft
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.whole_files import write_text
    from colocate.outputs.text.wording import listed, quoted

    write_text(path, fleet_draft(found, gpus, windows))
    say_wrote(path)
    unknown = [model.name for model in found.models if not _is_config(NO_LOOKUP, model.name)]
    if unknown:
        names = listed([quoted(name) for name in unknown])
        notes().print(
            f"note: sizes are not measured: give config or size_gb of {names}", markup=False
        )


def _is_config(lookup: "ConfigLookup", name: str) -> bool:
    try:
        lookup.find(name)
    except InputError:
        return False
    return True


def _update(fleet: Path, changed: "DemandChanges", download: bool, show_diff: bool) -> None:
    """Write what is off into the fleet file, all or nothing, and show what changed."""
    from colocate.cli.fleet_text import update_fleet_text
    from colocate.outputs.text.console import notes

    if not changed.fields and not changed.windows:
        notes().print("nothing to change: the fleet file agrees with the source", markup=False)
        return
    update_fleet_text(fleet, changed.fields, changed.windows, download, show_diff)
