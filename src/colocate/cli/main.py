"""The `colocate` command and the border where errors become sentences and exit codes."""

import gc
import os
import sys

import typer

import colocate
from colocate.cli.bench import bench
from colocate.cli.board import board
from colocate.cli.calibrate import calibrate
from colocate.cli.capacity import capacity
from colocate.cli.check import check
from colocate.cli.diff import diff
from colocate.cli.discover import discover
from colocate.cli.emit import emit
from colocate.cli.evaluator import evaluator
from colocate.cli.exit_codes import (
    BAD_INPUT,
    FAULT,
    INFEASIBLE,
    NOTHING_FOUND,
    READER_GONE,
    USAGE,
)
from colocate.cli.explain import explain
from colocate.cli.footprint import footprint
from colocate.cli.lab import lab
from colocate.cli.models import models
from colocate.cli.observe import observe
from colocate.cli.plan import plan
from colocate.cli.predict import predict
from colocate.cli.replan import replan
from colocate.cli.schema import schema
from colocate.cli.score import score
from colocate.cli.simulate import simulate
from colocate.cli.size import size
from colocate.cli.strategies import strategies
from colocate.cli.watch import watch
from colocate.errors import (
    ColocateError,
    InfeasibleError,
    InputError,
    NothingFoundError,
)

EXIT_CODES = (
    (InfeasibleError, INFEASIBLE),
    (NothingFoundError, NOTHING_FOUND),
    (ColocateError, FAULT),
)

RARELY = 50_000
"""New objects after which cycles are looked for. Imports make many, and a command ends soon."""

app = typer.Typer(
    help="Decide which language models share which GPUs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(plan)
app.command()(check)
app.command()(predict)
app.command()(simulate)
app.command()(explain)
app.command()(capacity)
app.command()(replan)
app.command()(diff)
app.command()(emit)
app.command()(strategies)
app.command()(bench)
app.command()(size)
app.command()(models)
app.command()(discover)
app.command()(footprint)
app.command()(calibrate)
app.command()(observe)
app.command()(watch)
app.command()(board)
app.command()(schema)
app.command()(score)
app.command()(evaluator)
app.add_typer(lab, name="lab")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colocate {colocate.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Decide which language models share which GPUs."""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(RARELY)
    output = sys.stdout
    if output is None:
        sys.exit("standard output is closed")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, not at exit, a reader that is gone can be told from a fault
    except SystemExit:
        if sys.stdout is not output:  # typer has put another one in its place: the reader is gone
            sys.exit(READER_GONE)
        raise
    except ColocateError as error:
        print(error, file=sys.stderr)
        sys.exit(_exit_code(error))
    except BrokenPipeError:
        _discard_output()
        sys.exit(READER_GONE)
    except OSError as error:
        _discard_output()
        print(f"cannot write, {error.strerror or error}", file=sys.stderr)
        sys.exit(FAULT)


def _exit_code(error: ColocateError) -> int:
    """Return 3 for a bad file, 2 for a bad value of an option, and the code of other errors."""
    if isinstance(error, InputError):
        return BAD_INPUT if error.in_a_file else USAGE
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def _discard_output() -> None:
    """Let nothing that is still buffered fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
