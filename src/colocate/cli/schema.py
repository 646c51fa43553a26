"""`colocate schema`: what an editor needs to help with a fleet file."""

import json

import typer


def schema() -> None:
    """Print the JSON Schema of fleet files, for editors and other tools."""
    from colocate.inputs.spec import fleet_schema

    typer.echo(json.dumps(fleet_schema(), indent=2))
