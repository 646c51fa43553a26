"""`colocate lab`: better placement programs by search, judged by the referee."""

import typer

from colocate.cli.lab.export import export
from colocate.cli.lab.init import init
from colocate.cli.lab.replay import replay
from colocate.cli.lab.run import run
from colocate.cli.lab.show import show
from colocate.cli.lab.status import status

lab = typer.Typer(
    help="Evolve programs for a task, judged by the referee.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (init, run, status, show, replay, export):
    lab.command()(command)
