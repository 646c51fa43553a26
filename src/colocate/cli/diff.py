"""`colocate diff`: what two plans differ in."""

import json
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.shared_options import AsJson


def diff(
    old: Annotated[Path, typer.Argument(help="Plan file.")],
    new: Annotated[Path, typer.Argument(help="Another plan file.")],
    page: Annotated[Path | None, typer.Option(help="Write a page (.html).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which models are elsewhere in another plan, what that loads, and what it brings."""
    from rich.text import Text

    from colocate.cli.plan_input import read_valid_plan
    from colocate.outputs.replan.difference import difference_data, difference_facts
    from colocate.outputs.replan.page import difference_page
    from colocate.outputs.replan.table import moves_table
    from colocate.outputs.text.console import show, table_width
    from colocate.outputs.text.whole_files import write_text

    check_outputs(old, (page,))
    (before, old_fleet), (after, new_fleet) = read_valid_plan(old), read_valid_plan(new)
    facts = difference_facts((before, old_fleet), (after, new_fleet))
    if as_json:
        data = difference_data((before, old_fleet), (after, new_fleet))
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        table = moves_table(before.placement, after.placement, table_width())
        show(*(Text(fact) for fact in facts), table)
    if page is not None:
        title = f"{old.name} and {new.name}"
        write_text(page, difference_page(title, facts, before.placement, after.placement))
        say_wrote(page)
