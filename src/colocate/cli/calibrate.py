"""`colocate calibrate`: the constants of a running model, for the fleet file."""

import json
import os
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.exit_codes import INTERRUPTED
from colocate.cli.shared_options import AsJson
from colocate.errors import ServerError, UnknownNameError

if TYPE_CHECKING:
    from colocate.inputs.calibration.probe_settings import ProbeSettings
    from colocate.inputs.calibration.readings import PrefillReading, StepReading
    from colocate.inputs.calibration.scrapes import Scrape
    from colocate.inputs.server.address import ServerAddress

    Found = tuple[str, list[StepReading], list[PrefillReading], list[str]]


def calibrate(
    url: Annotated[
        str | None,
        typer.Argument(help="OpenAI-compatible server to probe, such as http://localhost:8000/v1."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name there; needed if there are several.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Kind of GPU that it runs on, to name in the block.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1.0, max=3600.0, help="How long to measure.")
    ] = 120.0,
    most_requests: Annotated[int, typer.Option(min=1, max=256, help="Most requests at once.")] = 32,
    longest_prompt: Annotated[
        int, typer.Option(min=16, max=131072, help="Words of the longest prompt.")
    ] = 2048,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of a probe: metrics of vLLM or SGLang under real load, as files in order "
            "of time (repeat it) or the engine's address, which is read now and then."
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Instead of a probe: a Prometheus server with such metrics.")
    ] = None,
    window: Annotated[str, typer.Option(help="--prometheus: how far to look back.")] = "1h",
    where: Annotated[
        str,
        typer.Option(help='--prometheus: labels that engines must have, such as node="a".'),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure a running model: what a decode step and a prefill take, as a block for a fleet."""
    from colocate.inputs.calibration.probe_settings import ProbeSettings
    from colocate.inputs.calibration.readings import calibration_of
    from colocate.outputs.calibration import calibration_data, calibration_yaml, notes_on_fit
    from colocate.outputs.text.console import notes
    from colocate.solver.interrupt import stopping_on_interrupt

    if sum((url is not None, bool(metrics), prometheus is not None)) != 1:
        raise typer.BadParameter("give an address, --metrics or --prometheus, and only one of them")
    stop = Event()
    with stopping_on_interrupt(stop.set):
        if url is not None:
            settings = ProbeSettings(seconds, most_requests, longest_prompt)
            found = _probed(url, model, settings, stop)
        elif prometheus is not None:
            found = _kept(prometheus, model, window, where)
        else:
            found = _counted(metrics or [], model, seconds, stop)
    name, steps, prefills, said = found
    kind = kind and _known_kind(kind)
    if not steps:
        notes().print("interrupted before anything was measured")
        raise typer.Exit(INTERRUPTED)
    calibration = calibration_of(steps, prefills)
    said += notes_on_fit(calibration)
    for note in said:
        notes().print(f"note: {note}", markup=False)
    if as_json:
        typer.echo(json.dumps(calibration_data(calibration, name, kind, said), indent=2))
    else:
        typer.echo(calibration_yaml(calibration, name, kind), nl=False)


def _probed(url: str, model: str | None, settings: "ProbeSettings", stop: Event) -> "Found":
    """Return what requests to a server tell."""
    from colocate.inputs.calibration.known_models import known_models, only_model
    from colocate.inputs.calibration.probe import Probe
    from colocate.outputs.calibration import notes_on_probe
    from colocate.outputs.text.console import notes

    address = _address(url)
    names = known_models(address)
    chosen = model or only_model(names)
    with notes().status("calibrating") as status:

        def report(requests: int, words: int) -> None:
            status.update(f"{requests} at once, prompts of {words:,} words")

        try:
            findings = Probe(address, chosen, settings, stop, report).run()
        except ServerError as error:
            if error.status in (400, 404) and names and chosen not in names:
                raise UnknownNameError.among("model", chosen, names) from None
            raise
    return chosen, findings.steps, findings.prefills, list(notes_on_probe(findings))


def _counted(sources: list[str], model: str | None, seconds: float, stop: Event) -> "Found":
    """Return what metrics in files tell, or those of a running engine."""
    from colocate.inputs.calibration.metrics_sources import is_url, scrapes_in, scrapes_of_engine

    if len(sources) > 1 and any(map(is_url, sources)):
        raise typer.BadParameter("--metrics takes several files or one address")
    if is_url(sources[0]):
        address = _address(sources[0])
        scrapes = scrapes_of_engine(address, model, seconds, stop)
        place = str(address)
    else:
        scrapes, place = scrapes_in(sources, model), sources[-1]
    return _read(scrapes, place)


def _kept(prometheus: str, model: str | None, window: str, where: str) -> "Found":
    """Return what a Prometheus server tells."""
    from colocate.inputs.calibration.metrics_sources import scrapes_of_prometheus, window_seconds
    from colocate.inputs.server.prometheus import PrometheusServer

    server = PrometheusServer(prometheus, os.environ.get("PROMETHEUS_TOKEN"))
    scrapes = scrapes_of_prometheus(server, model, window_seconds(window), where)
    return _read(scrapes, str(server))


def _read(scrapes: "list[Scrape]", place: str) -> "Found":
    from colocate.inputs.calibration.scrapes import readings_between
    from colocate.inputs.text_file import naming

    if not scrapes:
        return "", [], [], []
    with naming(place):
        steps, prefills = readings_between(scrapes)
    return scrapes[-1].model, steps, prefills, []


def _known_kind(kind: str) -> str:
    """Return a kind of GPU as the catalogue writes it, for a fleet file to find it by."""
    from colocate.inputs.gpu_catalogue import find_accelerator
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.wording import quoted

    try:
        return find_accelerator(kind).kind
    except UnknownNameError:
        where = "the fleet file must write it in the same way"
        notes().print(f"note: {quoted(kind)} is not in the catalogue: {where}", markup=False)
        return kind


def _address(url: str) -> "ServerAddress":
    from colocate.inputs.server.address import ServerAddress

    return ServerAddress(url, os.environ.get("OPENAI_API_KEY"))
