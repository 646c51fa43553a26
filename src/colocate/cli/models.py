"""`colocate models`: the catalogue of models."""

import json

import typer

from colocate.cli.shared_options import AsJson


def models(as_json: AsJson = False) -> None:
    """List the models that need no config file, with their sizes."""
    from colocate.outputs.models.catalogue_table import catalogue_rows, catalogue_table
    from colocate.outputs.text.console import show, table_width

    if as_json:
        typer.echo(json.dumps(catalogue_rows(), indent=2))
    else:
        show(catalogue_table(table_width()))
