"""`colocate explain`: why a plan is as it is, and what would change it."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.shared_options import AsJson


def explain(
    plan: Annotated[Path, typer.Argument(help="Plan file, written by `colocate plan --save`.")],
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds for trying out changes.")
    ] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Explain the bottleneck, what would relieve it, and the bound."""
    import json

    from rich.text import Text

    from colocate.advise.explain.explanation import explain as explain_plan
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.cli.plan_input import read_valid_plan
    from colocate.outputs.explain.sentences import explanation_lines
    from colocate.outputs.text.console import notes, show
    from colocate.outputs.text.plain_data import plain

    answer, fleet = read_valid_plan(plan)
    say_when_compiling()
    with notes().status("trying changes"):
        told = explain_plan(answer, fleet, time_limit)
    if as_json:
        typer.echo(json.dumps(plain(told), indent=2, allow_nan=False))
    elif told is None:
        show("all models are asleep: there is nothing to explain")
    else:
        show(Text("\n".join(explanation_lines(told))))
