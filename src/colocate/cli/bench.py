"""`colocate bench`: strategies on a suite."""

import json
import os
from functools import partial
from typing import Annotated

import typer

from colocate.cli.shared_options import Seed


def bench(
    suite: Annotated[
        str,
        typer.Argument(
            help="adrs, idle, tight, mixed, longtail, chatlmsys or prism24; scale and families "
            "take minutes."
        ),
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="Run this strategy (repeatable); `solve` is the solver, `all` is every strategy. "
            "Default: initial_program, the strongest strategy and the solver."
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes (default: one per core).")
    ] = None,
    cases: Annotated[bool, typer.Option("--cases", help="Also print every case.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every case.")] = False,
) -> None:
    """Run strategies on a suite and print their scores."""
    from rich.progress import Progress

    from colocate.arena.strategies.strategy_score import SOLVER, score_strategies
    from colocate.arena.strategies.strategy_tables import case_table, score_table
    from colocate.arena.suites import load_suite
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.outputs.text.console import notes, show, table_width
    from colocate.solver.strategies import STRATEGIES, STRONGEST, find_strategy

    asked = strategy or ["initial_program", STRONGEST, SOLVER]
    names = [*STRATEGIES, SOLVER] if "all" in asked else list(dict.fromkeys(asked))
    chosen = [name if name == SOLVER else find_strategy(name) for name in names]
    loaded = load_suite(suite)
    say_when_compiling()
    with Progress(console=notes(), transient=True) as progress:
        bar = progress.add_task(suite, total=len(chosen) * len(loaded.cases))
        scores = score_strategies(
            loaded, chosen, seed, workers or os.cpu_count() or 1, partial(progress.advance, bar)
        )
    if as_json:
        document = {
            "suite": loaded.name,
            "digest": loaded.digest,
            "seed": seed,
            "scores": [score.as_dict() for score in scores],
        }
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
        return
    width = table_width()
    show(*(case_table(score, width) for score in scores if cases), score_table(scores, width))
