"""Options of commands that ask a Prometheus server for the metrics of engines."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from colocate.inputs.observation.metrics.from_prometheus import PrometheusQuestion

TOKEN = "PROMETHEUS_TOKEN"
"""The variable with the bearer token of the Prometheus server."""

NameMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="NAME=MODEL", help="The model of the fleet that one of the source is."
    ),
]
Where = Annotated[
    str, typer.Option(help='Prometheus: labels that engines must have, such as cluster="a".')
]
ModelLabel = Annotated[
    list[str] | None,
    typer.Option(help="Prometheus: label that names the model; of several, the first."),
]
NamesFile = Annotated[
    Path | None, typer.Option(help="Prometheus: file that says which metrics say what.")
]
EngineVersion = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VERSION", help="Prometheus: take the names that this version has."),
]


def pairs(option: str, form: str, texts: list[str] | None) -> list[tuple[str, str]]:
    """Return what stands before and after the last = of each text.

    Parameters
    ----------
    option
        That the texts were given for.
    form
        What they must look like.
    texts
        As they were given.
    """
    found = []
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{option} {text}, must be {form}")
        found.append((name, value))
    return found


def mapping_of(texts: list[str] | None) -> dict[str, str]:
    """Return the models of a fleet by their names in the source, from the texts of --map."""
    return dict(pairs("--map", "NAME=MODEL", texts))


def prometheus_question(
    seconds: float,
    mapping: Mapping[str, str],
    where: str = "",
    labels: list[str] | None = None,
    names: Path | None = None,
    engines: list[str] | None = None,
    step: float | None = None,
) -> "PrometheusQuestion":
    """Return what to ask a Prometheus server.

    Parameters
    ----------
    seconds
        How far to look back.
    mapping, where, labels, names, engines
        As the options were given.
    step
        Seconds of a bin; None chooses it.
    """
    from colocate.inputs.observation.metrics.from_prometheus import PrometheusQuestion
    from colocate.inputs.observation.metrics.metric_names import (
        known_metric_names,
        read_metric_names,
    )

    known = read_metric_names(names) if names else known_metric_names()
    known = known.of_versions(dict(pairs("--engine", "NAME=VERSION", engines)))
    if labels:
        known = known.with_labels(tuple(labels))
    return PrometheusQuestion(seconds, step, where, known, mapping)
