"""`colocate simulate`: what users of a placement would feel, request by request."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.exit_codes import INTERRUPTED
from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.replay_choices import (
    CacheKind,
    LengthShape,
    PrefillOrder,
    ReplicaRouter,
    RequestTimes,
)
from colocate.cli.shared_options import (
    AsJson,
    Download,
    PageFile,
    PlacedPlan,
    PlacementFile,
    Seed,
)
from colocate.outputs.emit.settings import Sharing


def simulate(
    plan: PlacedPlan,
    placement: PlacementFile = None,
    trace: Annotated[
        Path | None,
        typer.Option(help="Replay the requests of this CSV file, or - for standard input."),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="NAME=MODEL", help="The model that stands for one of the trace."
        ),
    ] = None,
    start: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds of the trace to leave out.")
    ] = None,
    condense: Annotated[
        float | None,
        typer.Option(help="Let the trace run so many times faster: at 2, twice the requests."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="For how long requests come (default: 10; a day with --demand day; all of a "
            "trace)."
        ),
    ] = None,
    demand: Annotated[
        RequestTimes | None,
        typer.Option(
            help="When requests come, at the rates of the fleet: at random (default), in bursts, "
            "or as over a day."
        ),
    ] = None,
    variation: Annotated[
        float | None,
        typer.Option(help="Of the times between requests in bursts: 1 is random (default: 3)."),
    ] = None,
    lengths: Annotated[
        LengthShape | None,
        typer.Option(
            help="How lengths differ from their means (default: prompts fixed, outputs "
            "exponential)."
        ),
    ] = None,
    prefill: Annotated[
        PrefillOrder, typer.Option(help="Read prompts at once, or in pieces beside other requests.")
    ] = PrefillOrder.FIRST,
    token_budget: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of a step with pieces of prompts (default: 2048)."),
    ] = None,
    cache: Annotated[
        CacheKind, typer.Option(help="A cache for each engine, or one for all on a GPU (kvcached).")
    ] = CacheKind.BLOCKS,
    router: Annotated[
        ReplicaRouter, typer.Option(help="How a request gets to one of several replicas.")
    ] = ReplicaRouter.ROUND_ROBIN,
    sharing: Annotated[
        Sharing | None,
        typer.Option(help="How engines share a GPU (default: as the fleet file says)."),
    ] = None,
    wake: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="Wake models that are asleep when they are asked, which takes so long.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WAY",
            help="The same requests on another placement: greedy, lowest-pressure, "
            "one-model-per-gpu, or a file with a plan or a placement.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Seeds, for means with 95% intervals (default: 1; 5 to compare).",
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads (default: as many as there are cores).")
    ] = None,
    page: PageFile = None,
    download: Download = False,
    as_json: AsJson = False,
) -> None:
    """Replay requests on a placement: latencies, goodput, queues and caches of every model."""
    import json

    from colocate.cli import replay
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.cli.placed_fleet import read_placed, say_broken_rules
    from colocate.outputs.simulation.json_form import simulation_data
    from colocate.outputs.simulation.page import simulation_page
    from colocate.outputs.simulation.table import fitting_width, simulation_table
    from colocate.outputs.text.console import notes, show
    from colocate.outputs.text.whole_files import write_text
    from colocate.simulate.options import SimulateOptions

    check_outputs(plan, (page,))
    if token_budget is not None and prefill is PrefillOrder.FIRST:
        raise typer.BadParameter("--token-budget is about --prefill chunked")
    options = SimulateOptions(
        prefill=prefill.value,
        token_budget=SimulateOptions.token_budget if token_budget is None else token_budget,
        cache=cache.value,
        router=router.value,
        wake_seconds=wake,
        sharing=sharing.value if sharing else None,
    )
    others = compare or []
    number = seeds or (5 if others and trace is None else 1)
    recorded = replay.Recorded(trace, mapping or [], start, condense)
    drawn = replay.Drawn(demand, variation, lengths)
    asked = replay.asked(recorded, drawn, minutes, replays=number * (1 + len(others)))
    fleet, places = read_placed(plan, placement, download)
    say_when_compiling()
    name = (placement or plan).name
    ways = replay.all_ways(name, fleet.problem, places, others, seed)
    chosen = range(seed, seed + number)
    replay.say_how_many(fleet.problem, asked, number * len(ways))
    found = replay.simulated(fleet.problem, ways, asked, options, chosen, workers)
    if not found:
        notes().print("interrupted before anything was simulated")
        raise typer.Exit(INTERRUPTED)
    if page:
        command = shlex.join(["colocate", *sys.argv[1:]])
        write_text(page, simulation_page(found, asked.steady, command))
        say_wrote(page)
    if as_json:
        way = options.sharing or fleet.problem.sharing
        data = simulation_data(found, chosen[: len(found[0].found.runs)], way)
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        show(simulation_table(found, asked.steady, fitting_width()))
    replay.say_what_is_missing(found, len(ways), number, asked)
    say_broken_rules(fleet, places)
