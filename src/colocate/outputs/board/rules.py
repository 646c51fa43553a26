"""Recording rules: one series for each quantity, whichever engine serves a model.

The names of the engines' metrics are those that `colocate observe` reads. A gateway counts the
requests of engines once more, so it is left out.
"""

from collections.abc import Iterator, Sequence

import yaml

from colocate.inputs.observation.metrics.metric_names import EngineMetrics, MetricName, MetricNames

WINDOW = "5m"
"""Over which rates and means are taken: some ten scrapes, and short enough to see a change."""
MODEL = "model_name"
"""The label that names a model in all of our series, as vLLM and SGLang call it."""
RATE = "colocate:requests:rate5m"
WAITING, RUNNING = "colocate:requests_waiting:sum", "colocate:requests_running:sum"
CACHE = "colocate:cache_in_use:ratio"
TPOT, TTFT = "colocate:tpot_seconds:mean5m", "colocate:ttft_seconds:mean5m"
TPOT_TO_TARGET, TTFT_TO_TARGET = "colocate:tpot_to_target:ratio", "colocate:ttft_to_target:ratio"
CACHE_BYTES = "colocate:cache_in_use:bytes"


def recording_rules(names: MetricNames) -> str:
    """Return a file of rules for Prometheus."""
    engines = [engine for engine in names.engines if not engine.gateway]
    rules = [{"record": record, "expr": expression} for record, expression in _rules(engines)]
    group = {"name": "colocate", "interval": "15s", "rules": rules}
    return yaml.safe_dump({"groups": [group]}, sort_keys=False, width=1000)


def _rules(engines: Sequence[EngineMetrics]) -> Iterator[tuple[str, str]]:
    """Yield the rules for all quantities that some engine tells."""
    found = dict(_of_engines(engines))
    yield from found.items()
    for record, base, expression in (
        (TPOT_TO_TARGET, TPOT, f"{TPOT} / on ({MODEL}) colocate_target_tpot_seconds"),
        (TTFT_TO_TARGET, TTFT, f"{TTFT} / on ({MODEL}) colocate_target_ttft_seconds"),
        (CACHE_BYTES, CACHE, f"colocate_plan_cache_bytes * on ({MODEL}) group_left () {CACHE}"),
    ):
        if base in found:
            yield record, expression


def _of_engines(engines: Sequence[EngineMetrics]) -> Iterator[tuple[str, str]]:
    if requests := _any([_rate(each, ("started", "completed")) for each in engines]):
        yield RATE, f"sum by ({MODEL}) ({requests})"
    for record, quantity, gather in (
        (RUNNING, "running", "sum"),
        (WAITING, "waiting", "sum"),
        (CACHE, "cache", "avg"),
    ):
        if found := _any([_named(each, way.total) for each, way in _ways(engines, quantity)]):
            yield record, f"{gather} by ({MODEL}) ({found})"
    for record, quantity in ((TPOT, "tpot"), (TTFT, "ttft")):
        ways = list(_ways(engines, quantity))
        sums = _any([_named(each, f"rate({way.total}[{WINDOW}])") for each, way in ways])
        counts = _any([_named(each, f"rate({way.count}[{WINDOW}])") for each, way in ways])
        if ways:
            yield record, f"sum by ({MODEL}) ({sums}) / (sum by ({MODEL}) ({counts}) > 0)"


def _ways(
    engines: Sequence[EngineMetrics], quantity: str
) -> Iterator[tuple[EngineMetrics, MetricName]]:
    for engine in engines:
        for way in engine.metrics.get(quantity, ()):
            yield engine, way


def _rate(engine: EngineMetrics, quantities: Sequence[str]) -> str:
    """Return the rate of the first counter that an engine has, or nothing."""
    ways = [way for quantity in quantities for _, way in _ways([engine], quantity)]
    return _any([_named(engine, f"rate({way.total}[{WINDOW}])") for way in ways[:1]])


def _any(expressions: Sequence[str]) -> str:
    """Return what takes every series of the first, and of others those that are not yet there."""
    return " or ".join(filter(None, expressions))


def _named(engine: EngineMetrics, expression: str) -> str:
    """Return an expression whose series call their model as ours do."""
    for label in reversed(engine.labels):
        if label != MODEL:
            expression = f'label_replace({expression}, "{MODEL}", "$1", "{label}", "(.+)")'
    return expression
