"""A Prometheus server: range queries over any time, each answer bounded in bytes and seconds.

It is asked with the HTTP of the standard library, as model servers are: every answer has one limit
in seconds for the whole of it and one in bytes, which no client library has for both.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from colocate.errors import InputError, ServerError, SourceError, Trouble
from colocate.inputs.server.address import ServerAddress, is_address

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes: half a million samples, of some 30 bytes each, take a quarter of it."""
SECONDS_TO_ANSWER = 30.0
"""Within which an answer must be there; Prometheus itself gives up after two minutes."""
MOST_POINTS = 10_000
"""Moments of a series in one answer: Prometheus refuses more than 11,000."""
SAMPLES_AT_ONCE = 500_000
"""In one answer, over all series: longer times are asked for in pieces."""
MOST_SAMPLES = 8_000_000
"""In all answers together: 64 MB as numbers, a month of some 900 series."""
ADVICE = {
    400: "check --where and the names of metrics",
    401: "give the token of this server, in PROMETHEUS_TOKEN",
    403: "give a token that may read metrics, in PROMETHEUS_TOKEN",
    404: "check the address: Prometheus answers at /api/v1 below it",
    422: "ask for less: a shorter --window, or --where with fewer engines",
    429: "ask again later: others keep the server busy",
    503: "wait until the server is ready, or ask for a shorter --window",
}
"""Advice on each HTTP status."""


class MetricSeries(NamedTuple):
    """What Prometheus has kept of one series."""

    labels: Mapping[str, str]
    """Its name is the label `__name__`."""
    values: Sequence[tuple[float, float]]
    """Moments in seconds since 1970, and what was counted; a value may be NaN."""


class PrometheusServer:
    """Asks a Prometheus server, or one that answers like it.

    Parameters
    ----------
    url
        Its address, with the path that it is under.
    token
        Sent as a bearer token.
    seconds
        Within which each answer must be there.

    Raises
    ------
    InputError
        If it is no address, or the token has letters that no token has.
    """

    def __init__(
        self, url: str, token: str | None = None, seconds: float = SECONDS_TO_ANSWER
    ) -> None:
        if not is_address(url):
            raise InputError.of("prometheus", url, "an address like http://localhost:9090")
        self._address = ServerAddress(url, token, ADVICE)
        self._seconds = seconds

    def __str__(self) -> str:
        return str(self._address)

    def now(self) -> float:
        """Return the time by the clock of the server, which its samples are stamped with."""
        result = self._asked("query", {"query": "time()"})
        try:
            moment = float(result["result"][1])
        except (ValueError, TypeError, KeyError, IndexError):
            raise self._nonsense(str(result)) from None
        if not isfinite(moment) or moment <= 0.0:
            raise self._nonsense(str(result))
        return moment

    def value(self, query: str, moment: float) -> float | None:
        """Return the one number that a query gives at a moment, None if it gives nothing."""
        asked = {"query": query, "time": f"{moment:.3f}"}
        try:
            found = self._asked("query", asked)["result"]
            value = float(found[0]["value"][1]) if found else None
        except (ValueError, TypeError, KeyError, IndexError):
            raise self._nonsense("no number") from None
        return value if value is not None and isfinite(value) else None

    def labels(self, selector: str, start: float, end: float) -> list[dict[str, str]]:
        """Return the labels of all series that had samples in a time.

        Parameters
        ----------
        selector
            Which series.
        start, end
            Seconds since 1970.
        """
        asked = {"match[]": selector, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        found = self._asked("series", asked)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self._nonsense(str(found))
        return [{str(name): str(value) for name, value in each.items()} for each in found]

    def range(
        self, query: str, start: float, end: float, step: float, series: int = 1
    ) -> Iterator[MetricSeries]:
        """Yield what a query gives over a time; a series may come in several pieces.

        Parameters
        ----------
        query
            In PromQL.
        start, end
            Seconds since 1970.
        step
            Seconds between two moments.
        series
            How many there will be, about: many are asked for in shorter pieces of time.
        """
        points = round((end - start) / step) + 1
        if points * max(series, 1) > MOST_SAMPLES:
            raise SourceError(
                Trouble.TOO_LARGE,
                f"{self}: {points:,} moments of {series:,} series are more than {MOST_SAMPLES:,} "
                "samples; ask for a shorter --window, a longer --step, or fewer engines by --where",
            )
        at_once = min(max(SAMPLES_AT_ONCE // max(series, 1), 2), MOST_POINTS)
        for first in range(0, points, at_once):
            last = min(first + at_once, points) - 1
            yield from self._piece(query, start + first * step, start + last * step, step)

    def _piece(self, query: str, start: float, end: float, step: float) -> Iterator[MetricSeries]:
        asked = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:.3f}",
        }
        found = self._asked("query_range", asked)
        try:
            for each in found["result"]:
                labels = {str(name): str(value) for name, value in each["metric"].items()}
                values = [(float(moment), float(value)) for moment, value in each["values"]]
                yield MetricSeries(labels, values)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise self._nonsense(json.dumps(found)) from None

    def _asked(self, endpoint: str, question: Mapping[str, str]) -> Any:
        """Return the data of an answer."""
        root = urlsplit(self._address.url).path.rstrip("/")
        path = f"{root}/api/v1/{endpoint}?{urlencode(question, quote_via=quote)}"
        try:
            text = self._address.get(path, self._seconds, LARGEST_ANSWER)
        except SourceError:
            raise
        except ServerError as error:
            raise SourceError(Trouble.DOWN, str(error), error.status) from None
        try:
            answer = json.loads(text)
            data = answer["data"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._nonsense(text) from None
        return data

    def _nonsense(self, text: str) -> SourceError:
        said = self._address.quote(text)
        message = f"{self}: the answer is none of Prometheus ({said}); check the address"
        return SourceError(Trouble.NONSENSE, message)
