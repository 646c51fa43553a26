"""Which metrics of which engine say what: a file that comes along, or one of the user."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

from colocate.errors import InputError, UnknownNameError, within
from colocate.fault import Fault
from colocate.inputs.observation.metrics.version_limits import VersionLimits
from colocate.inputs.spec_errors import located
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml

OWN_FILE = "metric_names.yaml"
COUNTERS = ("started", "completed")
GAUGES = ("running", "waiting", "in_system", "cache")
MEANS = ("prompt", "output", "ttft", "tpot")
QUANTITIES = (*COUNTERS, *GAUGES, *MEANS)
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
A_NAME, A_LABEL = "the name of a metric", "names of labels"
ENTRY = "name, or histogram, or sum and count, with versions or without"
MOST_ENGINES, MOST_NAMES = 50, 500
"""In a file of names: more do not fit into a question to Prometheus."""


@dataclass(frozen=True)
class MetricName:
    """One way in which an engine tells a quantity.

    Parameters
    ----------
    total
        The metric: a counter or gauge, or the sum of a mean.
    count
        What the sum of a mean is divided by; empty for counters and gauges.
    versions
        Of the engine, in which it is there.
    """

    total: str
    count: str
    versions: VersionLimits

    @property
    def names(self) -> tuple[str, ...]:
        """All metrics that it takes."""
        return (self.total, self.count) if self.count else (self.total,)


@dataclass(frozen=True)
class EngineMetrics:
    """The metrics of one engine.

    Parameters
    ----------
    engine
        Its name.
    gateway
        Whether it stands before engines, whose requests are its own.
    labels
        Of which the first that a series has names the model.
    metrics
        By quantity, in order of preference.
    """

    engine: str
    gateway: bool
    labels: tuple[str, ...]
    metrics: Mapping[str, tuple[MetricName, ...]]

    @property
    def names(self) -> set[str]:
        """All metrics."""
        return {name for way in chain(*self.metrics.values()) for name in way.names}


@dataclass(frozen=True)
class MetricNames:
    """All engines whose metrics are known.

    Parameters
    ----------
    targets
        Labels that tell one engine from another.
    engines
        In the order of the file.
    """

    targets: tuple[str, ...]
    engines: tuple[EngineMetrics, ...]

    @property
    def names(self) -> set[str]:
        """All metrics of all engines."""
        return {name for engine in self.engines for name in engine.names}

    def of_versions(self, versions: Mapping[str, str]) -> "MetricNames":
        """Return the names that engines of some versions have; other engines keep all."""
        known = [engine.engine for engine in self.engines]
        for name in versions:
            if name not in known:
                raise UnknownNameError.among("engine", name, known)
        return replace(self, engines=tuple(_of_version(each, versions) for each in self.engines))

    def with_labels(self, labels: tuple[str, ...]) -> "MetricNames":
        """Return the same with other labels that name the model, for all engines."""
        for label in labels:
            if not LABEL.fullmatch(label):
                raise InputError.of("label", label, "the name of a label")
        engines = tuple(replace(engine, labels=labels) for engine in self.engines)
        return replace(self, engines=engines)


def _of_version(engine: EngineMetrics, versions: Mapping[str, str]) -> EngineMetrics:
    version = versions.get(engine.engine)
    if version is None:
        return engine
    kept = {
        quantity: tuple(way for way in ways if way.versions.holds(version))
        for quantity, ways in engine.metrics.items()
    }
    return replace(engine, metrics={each: ways for each, ways in kept.items() if ways})


@cache
def known_metric_names() -> MetricNames:
    """Return the names that come along."""
    file = resources.files("colocate.inputs.observation.metrics") / OWN_FILE
    return parse_metric_names(file.read_text(encoding="utf-8"))


def read_metric_names(path: str | Path) -> MetricNames:
    """Read a file of names.

    Raises
    ------
    InputError
        If it cannot be read or used; the message names the file, the line and the field.
    """
    with naming(path):
        return parse_metric_names(read_text(path))


def parse_metric_names(text: str) -> MetricNames:
    """Return the names that the text of a file states."""
    with located(text):
        data = parse_yaml(text)
        if not isinstance(data, dict) or not isinstance(data.get("engines"), list):
            raise InputError(Fault("has no list of engines", "a file like the one in the docs"))
        _check_keys(data, ("schema", "targets", "engines"), ())
        if data.get("schema") != 1:
            raise InputError.of("schema", data.get("schema"), "1")
        if not 0 < len(data["engines"]) <= MOST_ENGINES:
            raise InputError(Fault("", f"from 1 to {MOST_ENGINES} engines", path=("engines",)))
        with within(("targets",)):
            targets = _texts(data.get("targets", ["job", "instance"]), LABEL, A_LABEL)
        engines = tuple(_engine(each, number) for number, each in enumerate(data["engines"]))
        found = MetricNames(targets, engines)
        if len({each.engine for each in engines}) < len(engines):
            raise InputError(Fault("name one twice", "names of their own", path=("engines",)))
        if len(found.names) > MOST_NAMES:
            raise InputError(Fault(f"have {len(found.names)} metrics", f"at most {MOST_NAMES}"))
        return found


def _engine(data: Any, number: int) -> EngineMetrics:
    with within(("engines", number)):
        if not isinstance(data, dict) or not isinstance(data.get("engine"), str):
            raise InputError.missing("engine", "the name of an engine")
        _check_keys(data, ("engine", "gateway", "labels", "metrics"), ())
        if not isinstance(data.get("gateway", False), bool):
            raise InputError.of("gateway", data["gateway"], "true or false")
        metrics = data.get("metrics")
        if not isinstance(metrics, dict) or not metrics:
            raise InputError.missing("metrics", f"a mapping with some of: {', '.join(QUANTITIES)}")
        _check_keys(metrics, QUANTITIES, ("metrics",))
        with within(("labels",)):
            labels = _texts(data.get("labels"), LABEL, A_LABEL)
        ways = {quantity: tuple(_ways(quantity, entries)) for quantity, entries in metrics.items()}
        return EngineMetrics(data["engine"], data.get("gateway", False), labels, ways)


def _ways(quantity: str, entries: Any) -> Iterator[MetricName]:
    if not isinstance(entries, list) or not entries:
        raise InputError.of(("metrics", quantity), entries, "a list of metrics")
    for number, entry in enumerate(entries):
        with within(("metrics", quantity, number)):
            if not isinstance(entry, dict):
                raise InputError(Fault(value=entry, expected=f"a mapping with {ENTRY}"))
            versions = VersionLimits.parsed(entry.get("versions", ""))
            kind = tuple(sorted(key for key in entry if key != "versions"))
            if quantity in MEANS and kind == ("histogram",):
                base = _text(entry["histogram"], NAME, A_NAME)
                yield MetricName(f"{base}_sum", f"{base}_count", versions)
            elif quantity in MEANS and kind == ("count", "sum"):
                total, count = (_text(entry[key], NAME, A_NAME) for key in ("sum", "count"))
                yield MetricName(total, count, versions)
            elif quantity not in MEANS and kind == ("name",):
                yield MetricName(_text(entry["name"], NAME, A_NAME), "", versions)
            else:
                wanted = "histogram, or sum and count" if quantity in MEANS else "name"
                raise InputError(Fault(f"has {', '.join(map(str, kind)) or 'nothing'}", wanted))


def _check_keys(data: Mapping[Any, Any], known: tuple[str, ...], path: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            expected = f"one of: {', '.join(known)}"
            raise InputError(Fault("is not known", expected, path=(*path, str(key))))


def _texts(data: Any, pattern: re.Pattern[str], expected: str) -> tuple[str, ...]:
    if not isinstance(data, list) or not data:
        raise InputError(Fault(value=data, expected=f"a list of {expected}"))
    return tuple(_text(each, pattern, expected) for each in data)


def _text(data: Any, pattern: re.Pattern[str], expected: str) -> str:
    if not isinstance(data, str) or not pattern.fullmatch(data):
        raise InputError(Fault(value=data, expected=expected))
    return data
