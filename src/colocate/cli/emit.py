"""`colocate emit`: files that start a plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.output_files import refuse_to_overwrite, say_wrote
from colocate.outputs.emit.settings import (
    LOAD_GB_PER_SECOND,
    OWN_ENGINES,
    Engine,
    Memory,
    Share,
    Sharing,
    Target,
    TimeSlice,
)

if TYPE_CHECKING:
    from colocate.outputs.emit.emission import Emission, EmittedFile


def emit(
    plan: Annotated[Path, typer.Argument(help="Plan file, written by `colocate plan --save`.")],
    to: Annotated[Target, typer.Option(help="The system that will start the engines.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this folder, with endpoints.json, litellm.yaml and nginx.conf (default: "
            "stdout, for a single file)."
        ),
    ] = None,
    node: Annotated[str | None, typer.Option(help="Write only the file for this machine.")] = None,
    memory: Annotated[
        Memory,
        typer.Option(help="Fix the memory of each engine, or let kvcached move it between them."),
    ] = Memory.STATIC,
    engine: Annotated[
        Engine | None,
        typer.Option(help="Engine for compose, kubernetes and kvcached (default: vllm)."),
    ] = None,
    share: Annotated[
        Share | None,
        typer.Option(
            help="kubernetes: pods share GPUs by resource claims (dra), as containers of one pod "
            "(pod), by an environment variable (env) or by the device plugin (plugin) (default: "
            "dra; pod with MPS)."
        ),
    ] = None,
    sharing: Annotated[
        Sharing | None,
        typer.Option(
            help="Engines on a GPU take turns (slices) or compute at once, under NVIDIA MPS (mps) "
            "(default: as the fleet file says, or else slices)."
        ),
    ] = None,
    time_slice: Annotated[
        TimeSlice, typer.Option(help="How long a turn is: kubernetes sets it, others say how to.")
    ] = TimeSlice.DEFAULT,
    weights: Annotated[
        str | None,
        typer.Option(
            help="kubernetes: keep weights in claim:NAME, new-claim[:SIZE[:STORAGECLASS]] or "
            "host:PATH (default: only as long as a pod lives)."
        ),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="kubernetes: the namespace of all manifests.")
    ] = None,
    load_gb_per_second: Annotated[
        float,
        typer.Option(help="How fast weights are loaded; decides how long a start may take."),
    ] = LOAD_GB_PER_SECOND,
    image: Annotated[
        str | None, typer.Option(help="Container image (default: the engine's own).")
    ] = None,
    venv: Annotated[
        str,
        typer.Option(help="kvcached, systemd: the virtual environment to start engines from."),
    ] = ".venv",
    host: Annotated[str, typer.Option(help="Address on which engines listen.")] = "0.0.0.0",
    base_port: Annotated[
        int, typer.Option(help="Port of the first engine; the others count up from it.")
    ] = 8000,
    address: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=HOST",
            help="Host name or IP address of a machine, for clients and gateways (default: its "
            "name, or 127.0.0.1 if there is only one). Repeatable.",
        ),
    ] = None,
    gateway_port: Annotated[
        int | None, typer.Option(help="Port of nginx (default: the one below --base-port).")
    ] = None,
) -> None:
    """Write the files that start a plan: scripts, manifests or configs."""
    from colocate.cli.plan_input import read_valid_plan
    from colocate.outputs.emit.catalogue import emit as emitted
    from colocate.outputs.emit.cluster import KubernetesSettings, parse_weights
    from colocate.outputs.emit.gateway_settings import GatewaySettings, parse_addresses
    from colocate.outputs.emit.settings import EmitSettings
    from colocate.outputs.emit.write import chosen
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.sanitise import LONGEST_NOTE, one_line
    from colocate.outputs.text.wording import listed

    _check_engine(to, engine)
    gateway = GatewaySettings(parse_addresses(address or ()), gateway_port)
    settings = EmitSettings(
        memory,
        engine or Engine.VLLM,
        share,
        base_port,
        host,
        image,
        venv,
        sharing,
        time_slice,
        load_gb_per_second,
        KubernetesSettings(namespace, parse_weights(weights) if weights else None),
        gateway,
    )
    emission = emitted(to, *read_valid_plan(plan), settings)
    files = chosen(emission.files, node)
    if out is None and len(files) > 1:
        names = listed([file.name for file in files])
        raise typer.BadParameter(
            f"this plan has {len(files)} files ({names}); give --out FOLDER, or --node NAME for one"
        )
    for note in emission.notes:
        notes().print(f"note: {one_line(note.text, LONGEST_NOTE)}", markup=False)
    if out is None:
        typer.echo(files[0].text, nl=False)
        return
    files += [file for file in emission.companions if node in (None, file.node)]
    _write(plan, out, to, emission, files)


def _write(
    plan: Path, out: Path, target: Target, emission: "Emission", files: "list[EmittedFile]"
) -> None:
    """Write files to a folder, and say what was written and what another plan left there."""
    from colocate.outputs.emit.emission import write_files
    from colocate.outputs.emit.write import foreign, left_over
    from colocate.outputs.text.console import notes

    for file in files:
        refuse_to_overwrite(plan, out / file.name)
    if others := foreign(out, [file for file in files if file in emission.companions]):
        raise typer.BadParameter(f"{others[0]} is not from colocate emit; give another --out")
    for path in write_files(out, files):
        say_wrote(path)
    for path in left_over(out, target, emission.files):
        notes().print(f"note: {path} belongs to another plan; remove it", markup=False)


def _check_engine(target: Target, engine: Engine | None) -> None:
    """Refuse an engine that a target cannot start."""
    own = OWN_ENGINES.get(target)
    if own and engine not in (None, own):
        raise typer.BadParameter(f"--to {target} starts {own} only; leave out --engine {engine}")
