"""`colocate plan`: which model goes where."""

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
    compute: Annotated[
        bool, typer.Option("--compute/--no-compute", help="Keep GPUs from being too busy.")
    ] = True,
    save: Annotated[
        Path | None, typer.Option(help="Write the plan to this file too, as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Place the models of a fleet file on its GPUs and print the plan."""
    from colocate.cli.compiling import say_when_compiling
    from colocate.inputs.fleet import read_fleet
    from colocate.outputs.console import notes, results, show
    from colocate.outputs.plan_json import plan_json
    from colocate.outputs.plan_table import improvement_line, plan_table
    from colocate.outputs.text_output import write_text
    from colocate.solver.place import place
    from colocate.solver.plan import Status
    from colocate.solver.solve import solve
    from colocate.solver.strategies import find_strategy

    chosen = find_strategy(strategy) if strategy else None
    stated = read_fleet(fleet, compute)
    problem = stated.problem
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
    if save:
        write_text(save, plan_json(answer, stated) + "\n")
    if as_json:
        typer.echo(plan_json(answer, stated))
    elif answer.placement:
        show(plan_table(answer, results().width))
    if not answer.placement:
        notes().print(f"{fleet}: {answer.reason}", markup=False)
        raise typer.Exit(INFEASIBLE if answer.status is Status.INFEASIBLE else NOTHING_FOUND)
