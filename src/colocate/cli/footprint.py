"""`colocate footprint`: what engines really hold, from their start logs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.fleet_text import update_fleet_text
from colocate.cli.shared_options import AsJson

if TYPE_CHECKING:
    from colocate.inputs.footprint.footprint import Footprint
    from colocate.inputs.footprint.updates import FieldComparison


def footprint(
    logs: Annotated[
        list[Path], typer.Argument(help="Start logs of vLLM or SGLang, one for each engine.")
    ],
    fleet: Annotated[
        Path | None, typer.Option(help="Compare with the estimates of this fleet file.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was measured into the fleet file.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="Name of the model in the fleet, for a single log.")
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(help="Kind of GPU it ran on, for logs that do not say its memory."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read what engines hold from their start logs: weights, overhead and KV cache."""
    from colocate.outputs.footprint_table import (
        as_data,
        difference_table,
        footprint_table,
        notes_on_footprint,
    )
    from colocate.outputs.text.console import notes, show, table_width

    if update and fleet is None:
        raise typer.BadParameter("--update needs --fleet")
    if str(fleet) == "-":
        raise typer.BadParameter("--fleet must be a file")
    if model is not None and len(logs) > 1:
        raise typer.BadParameter("--model names the model of a single log")
    found = [_footprint(log, gpu) for log in logs]
    off = _differences(fleet, found, model) if fleet else []
    named = [(name, difference) for name, _, difference in off]
    for each in found:
        for note in notes_on_footprint(each):
            notes().print(f"note: {note}", markup=False)
    if as_json:
        typer.echo(json.dumps(as_data(found, named), indent=2))
    else:
        width = table_width()
        tables = [footprint_table(found, width)]
        show(*tables, *([difference_table(named, width)] if fleet else []))
    if update and fleet:
        _update(fleet, [(number, difference) for _, number, difference in off], not as_json)


def _footprint(log: Path, gpu: str | None) -> "Footprint":
    from colocate.inputs.footprint.footprint import footprint_of
    from colocate.inputs.footprint.start_log import read_start_log
    from colocate.inputs.gpu_catalogue import find_accelerator
    from colocate.inputs.text_file import naming

    memory = find_accelerator(gpu).reported_gib if gpu else None
    with naming(log):
        return footprint_of(read_start_log(log), memory)


def _differences(
    fleet: Path, found: "list[Footprint]", name: str | None
) -> "list[tuple[str, int, FieldComparison]]":
    """Return measured fields of a fleet's models, with the names and numbers of these."""
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.footprint.updates import differences, model_of
    from colocate.inputs.text_file import naming, read_text
    from colocate.inputs.yaml_text import parse_yaml
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.wording import quoted

    models = read_fleet(fleet).spec.models
    raw = parse_yaml(read_text(fleet))["models"]
    off = []
    for each in found:
        with naming(fleet):
            model = model_of(each, models, name)
        if (each.shards, each.stages) != (model.shards, 1):
            notes().print(
                f"note: {quoted(model.name)}: the log is of {each.shards * each.stages} GPUs and "
                f"the fleet has shards={model.shards}, so they are not compared",
                markup=False,
            )
            continue
        number = models.index(model)
        off += [(model.name, number, field) for field in differences(each, model, raw[number])]
    return off


def _update(fleet: Path, found: "list[tuple[int, FieldComparison]]", show_diff: bool) -> None:
    """Write what is off into the fleet file, all or nothing, and show what changed."""
    from colocate.outputs.text.console import notes

    changes: dict[int, dict[str, float]] = {}
    for number, difference in found:
        if difference.is_off:
            changes.setdefault(number, {})[difference.field] = difference.measured
    if not changes:
        notes().print("nothing to change: the fleet file agrees with the logs", markup=False)
        return
    update_fleet_text(fleet, changes, (), False, show_diff)
