"""What any source tells of the demand for models: a trace, Prometheus, or a router."""

from collections.abc import Mapping
from pathlib import Path

from colocate.errors import InputError
from colocate.inputs.calibration.metrics_sources import is_url
from colocate.inputs.observation.from_kvcached import ENDPOINT, observe_kvcached
from colocate.inputs.observation.from_trace import observe_trace
from colocate.inputs.observation.metrics.from_prometheus import (
    PrometheusQuestion,
    observe_prometheus,
)
from colocate.inputs.observation.observation import Observation

ROUTER_WINDOW, PROMETHEUS_WINDOW = 60.0, 3600.0
"""Seconds to look back, where nothing else is said: a router remembers minutes, not hours."""


def is_router(source: str | Path) -> bool:
    """Whether a source is the router of kvcached, by its address."""
    return is_url(str(source)) and str(source).rstrip("/").endswith(ENDPOINT)


def observe(
    source: str | Path,
    mapping: Mapping[str, str] | None = None,
    window: float | None = None,
    question: PrometheusQuestion | None = None,
    token: str | None = None,
) -> Observation:
    """Measure the demand for models: rates, tokens, bursts, busy shares and latencies.

    Parameters
    ----------
    source
        A trace (CSV, gzipped or not), the address of a Prometheus server, or that of kvcached's
        router, which ends in `/traffic/stats`.
    mapping
        The model of the fleet that stands for one of the source, where their names differ.
    window
        How many seconds a server looks back; an hour, or a minute for a router, by default.
    question
        All that Prometheus is asked, in place of `mapping` and `window`.
    token
        Of the Prometheus server.

    Raises
    ------
    SourceError
        If a server is down, late, empty or says what cannot be: nothing may be concluded then.
    InputError
        If a trace or an argument cannot be used.
    """
    text = str(source)
    if not is_url(text):
        if window is not None or question is not None:
            raise InputError("a trace is read whole: window and question are about a server")
        return observe_trace(source, mapping)
    if is_router(text):
        return observe_kvcached(text, ROUTER_WINDOW if window is None else window, mapping)
    asked = question or PrometheusQuestion(window or PROMETHEUS_WINDOW, mapping=mapping or {})
    return observe_prometheus(text, asked, token)
