"""`colocate emit`: files that start a plan."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.output_files import refuse_to_overwrite, say_wrote
from colocate.outputs.emit.settings import Engine, Memory, Share, Target


def emit(
    plan: Annotated[Path, typer.Argument(help="Plan, as `colocate plan --save` writes it.")],
    to: Annotated[Target, typer.Option(help="What the files are for.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to; one file alone may go to stdout.")
    ] = None,
    node: Annotated[str | None, typer.Option(help="Only the file of this machine.")] = None,
    memory: Annotated[
        Memory, typer.Option(help="A fixed part for each engine, or parts that kvcached moves.")
    ] = Memory.STATIC,
    engine: Annotated[
        Engine, typer.Option(help="For compose, kubernetes and kvcached.")
    ] = Engine.VLLM,
    share: Annotated[
        Share, typer.Option(help="For kubernetes: GPUs by resource claims or by environment.")
    ] = Share.DRA,
    image: Annotated[
        str | None, typer.Option(help="Container image; by default the usual one of the engine.")
    ] = None,
    venv: Annotated[
        str, typer.Option(help="For kvcached: virtual environment of the engines.")
    ] = ".venv",
    host: Annotated[str, typer.Option(help="Address that engines listen on.")] = "0.0.0.0",
    base_port: Annotated[int, typer.Option(help="The first port; others follow.")] = 8000,
) -> None:
    """Write the files that start a plan: scripts, manifests or configs."""
    from colocate.cli.plan_input import read_valid_plan
    from colocate.outputs.emit.settings import EmitSettings
    from colocate.outputs.emit.targets import emit as emitted
    from colocate.outputs.emit.write import chosen, left_over, write_files
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.sanitise import one_line

    settings = EmitSettings(memory, engine, share, base_port, host, image, venv)
    emission = emitted(to, *read_valid_plan(plan), settings)
    files = chosen(emission.files, node)
    for note in emission.notes:
        notes().print(f"note: {one_line(note, 1000)}", markup=False)
    if out is not None:
        for file in files:
            refuse_to_overwrite(plan, out / file.name)
        for path in write_files(out, files):
            say_wrote(path)
        for path in left_over(out, to, emission.files):
            notes().print(f"note: {path} is of another plan, remove it", markup=False)
        return
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise typer.BadParameter(
            f"there are {len(files)} files ({names}), give --out FOLDER or --node NAME"
        )
    typer.echo(files[0].text, nl=False)
