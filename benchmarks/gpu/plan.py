"""The plan of a measurement: which engines are started, and which groups of them are read."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from zlib import crc32

from benchmarks.gpu.limits import MOST_CONTEXT, MOST_PROMPT, SLOTS
from benchmarks.gpu.shapes import SHAPES

MODES = ("slices", "mps")
CLOSED = ("decode", "prefill", "mixed", "burst")


MOST_BLOCKS = 10**6
"""More cache than any GPU has."""


@dataclass(frozen=True)
class Member:
    """One engine of a group and what it does: an open loop at a rate, or a closed loop.

    A burst is the same in every engine, so it needs no model. With `blocks`, the cache of an open
    loop is a pool of so many blocks; with a `token_budget`, prompts are read in pieces.
    """

    model: str | None = None
    rate: float | None = None
    closed: str | None = None
    batch: int = 1
    tokens: int = 512
    ms: float = 1.0
    slots: int = SLOTS
    prompt_tokens: int = 512
    output_tokens: float = 128
    context: int = 640
    blocks: int | None = None
    token_budget: int | None = None
    raw: bool = False

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.closed is None):
            raise ValueError(f"{self}: give either rate or closed")
        if self.closed is not None and self.closed not in CLOSED:
            raise ValueError(f"closed is {self.closed!r}, expected one of {', '.join(CLOSED)}")
        if self.model is None and self.closed != "burst":
            raise ValueError(f"{self}: only a burst needs no model")
        _check_model(self.model or "tiny")
        _check_range("rate", 1 if self.rate is None else self.rate, 1e-6, 1e6)
        _check_range("ms", self.ms, 1e-6, 10_000)
        _check_range("output_tokens", self.output_tokens, 1e-6, 1e6)
        _check_range("batch", self.batch, 1, SLOTS)
        _check_range("slots", self.slots, 1, SLOTS)
        _check_range("context", self.context, 1, MOST_CONTEXT)
        _check_range("tokens", self.tokens, 1, MOST_PROMPT)
        _check_range("prompt_tokens", self.prompt_tokens, 1, MOST_PROMPT)
        _check_range("blocks", self.blocks or MOST_BLOCKS, 1, MOST_BLOCKS)
        _check_range("token_budget", self.token_budget or SLOTS, SLOTS, MOST_PROMPT)
        if self.token_budget and not self.blocks:
            raise ValueError(f"{self}: an engine with a token_budget needs blocks")

    def said(self) -> dict[str, object]:
        """Return what decides the reading: all that is not as by default."""
        defaults = {item.name: item.default for item in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}


@dataclass(frozen=True)
class Reading:
    """A group of engines that run side by side for some seconds."""

    name: str
    members: tuple[Member, ...]
    modes: tuple[str, ...] = MODES
    seconds: float = 12.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError(f"reading {self.name!r} has no members")
        if not set(self.modes) <= set(MODES):
            raise ValueError(f"reading {self.name!r}: modes are {', '.join(MODES)}")
        _check_range("seconds", self.seconds, 0.01, 3600)

    @property
    def drawn_from(self) -> int:
        """The seed; by default one of its own for every name, equal in all modes."""
        return crc32(self.name.encode()) if self.seed is None else self.seed

    def needs(self) -> Counter[str]:
        """How many engines of each model the group has."""
        return Counter(member.model for member in self.members if member.model)


@dataclass(frozen=True)
class Plan:
    """Engines by model, the readings, and the models that are read alone by batch and tokens."""

    engines: dict[str, int]
    readings: tuple[Reading, ...]
    lone: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for model in (*self.engines, *self.lone):
            _check_model(model)
        for model in self.lone:
            _check_range(f"engines of {model}", self.engines.get(model, 0), 1, 64)
        for reading in self.readings:
            for model, count in reading.needs().items():
                if self.engines.get(model, 0) < count:
                    raise ValueError(f"reading {reading.name!r} needs {count} engines of {model}")
            if len(reading.members) > sum(self.engines.values()):
                raise ValueError(f"reading {reading.name!r} needs {len(reading.members)} engines")


def load_plan(path: Path) -> Plan:
    return parse_plan(json.loads(path.read_text(encoding="utf-8")))


def parse_plan(data: Mapping) -> Plan:
    """Check a plan and fill in what it leaves out; by default as many engines as readings need."""
    _check_names("the plan", data, {"engines", "readings", "lone"})
    readings = tuple(_reading(item) for item in data.get("readings", ()))
    lone = tuple(data.get("lone", ()))
    needed: Counter[str] = Counter(lone)
    for reading in readings:
        needed |= reading.needs()
    return Plan(dict(data.get("engines", needed)), readings, lone)


def _reading(data: Mapping) -> Reading:
    _check_names("a reading", data, {item.name for item in fields(Reading)})
    known = {item.name for item in fields(Member)}
    for member in data.get("members", ()):
        _check_names("a member", member, known)
    parts = {
        "members": tuple(Member(**member) for member in data.get("members", ())),
        "modes": tuple(data.get("modes", MODES)),
    }
    return Reading(**{**data, **parts})


def _check_names(owner: str, data: Mapping, known: set[str]) -> None:
    strange = set(data) - known
    if strange:
        raise ValueError(f"{owner} has {sorted(strange)}, expected only {sorted(known)}")


def _check_model(model: str) -> None:
    if model not in SHAPES:
        raise ValueError(f"model {model!r} is unknown, expected one of {', '.join(SHAPES)}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, expected {low} to {high}")
