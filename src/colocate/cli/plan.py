"""`colocate plan`: which model goes where."""

import json
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.exit_codes import INFEASIBLE, NOTHING_FOUND


def plan(
    fleet: Annotated[Path, typer.Argument(help="Fleet file (YAML or JSON): gpus and models.")],
    strategy: Annotated[
        str | None,
        typer.Option(help="A name from `colocate strategies`, instead of the solver."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.001, help="Seconds for the solver.")] = 1.0,
    gap: Annotated[
        float, typer.Option(min=0.0, help="Be content within this share of the optimum.")
    ] = 0.0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads of the solver; by default two.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides every random choice.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Place the models of a fleet file on its GPUs and print the plan."""
    from colocate.cli.compiling import say_when_compiling
    from colocate.inputs.spec import read_fleet
    from colocate.outputs.console import notes, results, show
    from colocate.outputs.plan_table import improvement_line, plan_table
    from colocate.solver.place import place
    from colocate.solver.plan import Status
    from colocate.solver.solve import solve
    from colocate.solver.strategies import find_strategy

    chosen = find_strategy(strategy) if strategy else None
    problem = read_fleet(fleet)
    say_when_compiling()
    if chosen:
        answer = place(problem, chosen, seed)
    else:
        with notes().status("searching") as status:
            answer = solve(
                problem,
                time_limit=time_limit,
                seed=seed,
                workers=workers,
                gap=gap,
                on_improvement=lambda found: status.update(improvement_line(found)),
            )
    if as_json:
        typer.echo(json.dumps(answer.as_dict(), indent=2, allow_nan=False))
    elif answer.placement:
        show(plan_table(answer, results().width))
    if not answer.placement:
        notes().print(f"{fleet}: {answer.reason}", markup=False)
        raise typer.Exit(INFEASIBLE if answer.status is Status.INFEASIBLE else NOTHING_FOUND)
