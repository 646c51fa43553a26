"""`colocate strategies`: the catalogue."""

import json

import typer

from colocate.cli.shared_options import AsJson


def strategies(
    as_json: AsJson = False,
) -> None:
    """List the named strategies and their scores on adrs."""
    from rich import box
    from rich.table import Table

    from colocate.arena.strategies.strategy_tables import known_scores
    from colocate.outputs.text.console import show
    from colocate.solver.strategies import ROWS

    scores = known_scores()
    if as_json:
        rows = [
            {
                "name": row.name,
                "summary": row.summary,
                "reported": row.reported,
                "adrs": scores[row.name],
                "remark": row.remark,
            }
            for row in ROWS
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("strategy", overflow="fold")
    table.add_column("adrs", justify="right", no_wrap=True)
    table.add_column("reported", justify="right", no_wrap=True)
    table.add_column("what it does", overflow="fold")
    for row in ROWS:
        reported = "-" if row.reported is None else f"{row.reported:.2f}"
        what = f"{row.summary} ({row.remark})" if row.remark else row.summary
        table.add_row(row.name, f"{scores[row.name]:.4f}", reported, what)
    show(table)
