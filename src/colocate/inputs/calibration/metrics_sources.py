"""Where metrics come from: files, the address of an engine, or a Prometheus server."""

import re
from collections.abc import Sequence
from threading import Event
from time import perf_counter, time
from urllib.parse import urlsplit

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.calibration.metrics_text import LARGEST_TEXT, MetricSample, metric_samples
from colocate.inputs.calibration.scrapes import NAMES, Scrape, scrape_of
from colocate.inputs.server.address import ServerAddress
from colocate.inputs.server.prometheus import PrometheusServer
from colocate.inputs.text_file import naming, read_text

SCRAPES = 24
"""Of an engine, over the time given: enough for a fit, and each long enough for a mean."""
SECONDS_TO_ANSWER = 30.0
"""Within which metrics must be there."""
POINTS, SHORTEST_STEP = 120, 15.0
"""Moments to ask a Prometheus server for, and seconds between two of them at the least."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
WINDOW = re.compile(r"(\d{1,6})([smhd])")
LONGEST_WINDOW = 31 * 86400.0
"""Seconds: models, engines and GPUs are hardly the same for longer."""


def is_url(source: str) -> bool:
    """Whether a source of metrics is the address of a server, not a file."""
    return source.startswith(("http://", "https://"))


def scrapes_in(files: Sequence[str], model: str | None) -> list[Scrape]:
    """Return what files of metrics hold, one after the other."""
    found = []
    for file in files:
        with naming(file):
            text = read_text(file, LARGEST_TEXT)
            if not text.strip():
                raise InputError(Fault("is empty", "metrics of vLLM or SGLang"))
            found.append(scrape_of(metric_samples(text), model))
    return found


def scrapes_of_engine(
    address: ServerAddress, model: str | None, seconds: float, stop: Event
) -> list[Scrape]:
    """Return what an engine counts meanwhile, at moments some seconds apart.

    Parameters
    ----------
    address
        Of its metrics; without a path, `/metrics` is meant.
    model
        As the engine calls it; needed only if there are several.
    seconds
        How long to look.
    stop
        Ends it earlier.
    """
    path = urlsplit(address.url).path.rstrip("/") or "/metrics"
    begin, found = perf_counter(), []
    for number in range(SCRAPES + 1):
        if stop.wait(max(begin + seconds * number / SCRAPES - perf_counter(), 0.0)):
            break
        text = address.get(path, SECONDS_TO_ANSWER, LARGEST_TEXT)
        with naming(str(address)):
            found.append(scrape_of(metric_samples(text), model))
    return found


def scrapes_of_prometheus(
    server: PrometheusServer, model: str | None, window: float, where: str
) -> list[Scrape]:
    """Return what a Prometheus server has kept of a model's engines.

    Parameters
    ----------
    server
        Which to ask.
    model
        As its engines call it; needed only if there are several.
    window
        How many seconds to look back.
    where
        Labels that engines must have, such as `instance="a:8000"`; may be empty.
    """
    names = "|".join(f"{engine}:{name}" for engine, meant in NAMES.items() for name in meant)
    labels = f'__name__=~"{names}"' + (f",{where}" if where else "")
    query = f"sum by (__name__, model_name, mode) ({{{labels}}})"
    end, step = time(), max(window / POINTS, SHORTEST_STEP)
    moments: dict[float, list[MetricSample]] = {}
    for series in server.range(query, end - window, end, step):
        name, model = series.labels.get("__name__", ""), series.labels.get("model_name", "")
        for moment, value in series.values:
            sample = MetricSample(name, model, series.labels.get("mode", ""), value)
            moments.setdefault(moment, []).append(sample)
    with naming(str(server)):
        if not moments:
            raise InputError(Fault("has no metrics of an engine", advice="give a longer --window"))
        whole = max(map(len, moments.values()))  # at the first moments some are not there yet
        return [
            scrape_of(samples, model)
            for _, samples in sorted(moments.items())
            if len(samples) == whole
        ]


def window_seconds(text: str) -> float:
    """Return the seconds of a window such as `90s`, `30m`, `1h` or `2d`."""
    match = WINDOW.fullmatch(text)
    seconds = int(match[1]) * UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_WINDOW:
        raise InputError.of("window", text, "a time like 90s, 30m, 1h or 2d, of a month at most")
    return seconds
