"""`colocate watch`: follows demand, and moves models where that pays."""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.exit_codes import INTERRUPTED
from colocate.cli.prometheus_options import (
    TOKEN,
    EngineVersion,
    ModelLabel,
    NameMap,
    NamesFile,
    Where,
    mapping_of,
    prometheus_question,
)
from colocate.cli.shared_options import (
    DrainSeconds,
    LoadsAtOnce,
    LoadSpeed,
    ReadySeconds,
    TotalSpeed,
)
from colocate.errors import InputError
from colocate.fault import Fault

if TYPE_CHECKING:
    from colocate.follow.state import WatchState
    from colocate.follow.state_folder import StateFolder
    from colocate.follow.watch import Watch
    from colocate.inputs.fleet import Fleet
    from colocate.inputs.server.prometheus import PrometheusServer
    from colocate.replan.policy.settings import PolicySettings

PROCESSES_OF_MPS = (
    "note: the fleet shares GPUs by MPS, and watch starts no daemons: an engine that was started "
    "alone on its GPU takes turns with neighbours that come later, until COMMAND restarts it"
)


def watch(
    fleet: Annotated[Path, typer.Argument(help="Fleet file; it is read again in every round.")],
    prometheus: Annotated[str, typer.Option(help="Prometheus server with the engines' metrics.")],
    start: Annotated[
        Path | None,
        typer.Option("--from", help="Plan or placement that runs now; needed only at first."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            help="Command that carries out one step, whose file is its argument. Without it, "
            "nothing is done (a dry run)."
        ),
    ] = None,
    state: Annotated[
        Path, typer.Option(help="Folder for what must survive, and for the last change.")
    ] = Path("colocate-watch"),
    interval: Annotated[
        float, typer.Option(min=1.0, max=86400.0, help="Seconds from round to round.")
    ] = 10.0,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="End after this many rounds (default: never).")
    ] = None,
    window: Annotated[str, typer.Option(help="How far demand is looked back at.")] = "2h",
    commitment: Annotated[
        float, typer.Option(min=600.0, help="Seconds that an engine stays where it was moved.")
    ] = 900.0,
    hysteresis: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Share of requests in time that a move must bring."),
    ] = 0.01,
    most_moves: Annotated[int, typer.Option(min=0, help="Engines that may move in an hour.")] = 12,
    horizon: Annotated[
        float, typer.Option(min=60.0, help="Seconds ahead that a move must pay in.")
    ] = 1800.0,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="Steps carried out at once.")] = 8,
    step_timeout: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which a step has failed.")
    ] = 1800.0,
    elastic: Annotated[
        bool, typer.Option("--elastic", help="Engines share their caches (kvcached).")
    ] = False,
    load_gb_per_second: LoadSpeed = 2.0,
    total_gb_per_second: TotalSpeed = None,
    loads_at_once: LoadsAtOnce = 1,
    ready_seconds: ReadySeconds = 60.0,
    drain_seconds: DrainSeconds = 30.0,
    mapping: NameMap = None,
    where: Where = "",
    label: ModelLabel = None,
    names: NamesFile = None,
    engine: EngineVersion = None,
    listen: Annotated[
        str | None, typer.Option(help="HOST:PORT to serve own metrics at, for Prometheus.")
    ] = None,
) -> None:
    """Follow demand: replan where that pays, and carry the steps out; a dry run by default."""
    from colocate.follow.left_over import wait_for_left_over
    from colocate.follow.metrics_server import MetricsServer, host_and_port
    from colocate.follow.state_folder import StateFolder
    from colocate.follow.step_command import StepCommand
    from colocate.follow.watch import Surroundings, Watch
    from colocate.inputs.calibration.metrics_sources import window_seconds
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.observation.metrics.from_prometheus import observe_prometheus
    from colocate.inputs.server.prometheus import PrometheusServer
    from colocate.replan.policy.settings import PolicySettings
    from colocate.replan.steps.step_times import StepTimes
    from colocate.solver.interrupt import stopping_on_interrupt

    settings = PolicySettings(
        commitment=commitment,
        hysteresis=hysteresis,
        most_moves_per_hour=most_moves,
        horizon=horizon,
        memory="elastic" if elastic else "fixed",
        times=StepTimes(
            load_gb_per_second, total_gb_per_second, loads_at_once, ready_seconds, drain_seconds
        ),
    )
    question = prometheus_question(
        window_seconds(window), mapping_of(mapping), where, label, names, engine
    )
    token, stop = os.environ.get(TOKEN), Event()
    source = PrometheusServer(prometheus, token)
    if listen is not None:
        host_and_port(listen)
    perform = StepCommand(run, state, step_timeout, _say) if run is not None else None
    planned = read_fleet(fleet)
    first = _state_before(state, planned, start, settings)
    with ExitStack() as stack:
        folder = stack.enter_context(StateFolder(state))
        served = stack.enter_context(MetricsServer(listen)) if listen is not None else None

        def show(text: str) -> None:
            folder.write_metrics(text)
            if served is not None:
                served.show(text)

        around = Surroundings(
            lambda: read_fleet(fleet),
            lambda: observe_prometheus(prometheus, question, token),
            perform,
            _say,
            time.time,
            show,
        )
        known = _known_state(folder, planned) or first or _first_state(planned, start, settings)
        following = Watch(folder, around, planned, known, settings, at_once, stop)
        if perform is not None and planned.problem.sharing == "mps":
            _say(PROCESSES_OF_MPS)
        _say(_beginning(following, source, served.port if served else None))
        with stopping_on_interrupt(stop.set):
            if perform is not None:
                wait_for_left_over(state, step_timeout, _say, stop)
            _loop(following, interval, rounds)
    if stop.is_set():
        raise typer.Exit(INTERRUPTED)


def _state_before(
    folder: Path, fleet: "Fleet", start: Path | None, settings: "PolicySettings"
) -> "WatchState | None":
    """Return the state to begin with; None if a folder has one, and nothing else is read.

    It comes before the folder is made, so that a mistake leaves nothing behind.

    Parameters
    ----------
    folder
        Where the state is kept.
    fleet, start, settings
        As for `_first_state`.
    """
    from colocate.follow.state_folder import has_state
    from colocate.outputs.text.console import notes

    if not has_state(folder):
        return _first_state(fleet, start, settings)
    if start is not None:
        if not start.exists():
            raise InputError(Fault("does not exist", file=str(start)))
        words = f"note: {folder} has state, so --from {start} is not read"
        notes().print(words, markup=False, highlight=False)
    return None


def _known_state(folder: "StateFolder", fleet: "Fleet") -> "WatchState | None":
    """Return what a folder knows of the engines of a fleet; None if that is nothing yet."""
    from colocate.follow.state_folder import BEGIN_ANEW, STATE

    found = folder.read()
    models = {model.name for model in fleet.problem.models}
    gpus = {gpu.name for gpu in fleet.problem.gpus}
    if found and not found.is_of(models, gpus):
        words = "is of another fleet: all of its GPUs, or all of its models, are unknown"
        raise InputError(Fault(words, advice=BEGIN_ANEW, file=str(folder.path / STATE)))
    return found


def _first_state(fleet: "Fleet", start: Path | None, settings: "PolicySettings") -> "WatchState":
    """Return the state in which a placement runs that was made elsewhere."""
    from colocate.advise.predict import checked_placement
    from colocate.follow.engine_records import EngineRecord
    from colocate.follow.state import WatchState
    from colocate.inputs.plan_file import read_places
    from colocate.inputs.text_file import naming
    from colocate.replan.placed_engine import engines_of

    if start is None:
        raise typer.BadParameter("nothing is known yet: give the plan that runs now with --from")
    places = read_places(start)
    with naming(start):
        placement = checked_placement(fleet.problem, places)
        engines = engines_of(fleet.problem, placement, settings.memory, {})
    if not engines:
        raise InputError(Fault("places no model", "a placement that runs", file=str(start)))
    return WatchState(tuple(map(EngineRecord, engines)))


def _beginning(following: "Watch", source: "PrometheusServer", port: int | None) -> str:
    from colocate.outputs.text.wording import amount

    engines = amount(len(following.state.engines), "engine")
    mode = "dry run" if following.around.perform is None else "steps are carried out"
    served = f"; own metrics at port {port}" if port else ""
    return f"watching {engines} by {source} ({mode}{served})"


def _loop(following: "Watch", interval: float, rounds: int | None) -> None:
    """Go round after round; one that takes longer than the interval delays the next."""
    number = 0
    while not following.stop.is_set():
        begin = time.monotonic()
        following.round()
        number += 1
        if number == rounds:
            return
        following.stop.wait(max(interval - (time.monotonic() - begin), 0.0))


def _say(words: str) -> None:
    """Print a sentence with the time of day; progress goes to stderr."""
    from colocate.outputs.text.console import notes

    notes().print(f"{time.strftime('%H:%M:%S')}  {words}", markup=False, highlight=False)
