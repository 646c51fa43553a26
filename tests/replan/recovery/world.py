"""A fleet that carries out commands: plain, with its own rules, and hostile.

It knows nothing of how steps are found. A step that fails may have done its work, part of it, or
nothing. After every event it checks what must never be.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

Engine = tuple[str, tuple[str, ...], float]
"""A model, its GPUs, and the GB that it holds on each."""
HOLDING = ("loading", "ready", "open", "closed", "wreck")
"""States in which an engine holds its memory; asleep it does not."""
FAILED = {
    "load": ("absent", "loading", "wreck"),
    "wait": ("absent", "loading", "ready", "wreck"),
    "switch": ("ready", "open"),
    "drain": ("open", "closed"),
    "unload": ("absent", "closed", "wreck"),
    "sleep": ("closed", "asleep", "wreck"),
    "wake": ("asleep", "ready", "wreck", "absent"),
}
"""What an engine may be after a step that failed."""
DONE = {
    "load": "loading",
    "wait": "ready",
    "switch": "open",
    "drain": "closed",
    "unload": "absent",
    "sleep": "asleep",
    "wake": "ready",
}
"""What it is after one that succeeded."""
DONE_ALREADY = {
    "load": ("loading", "ready", "open", "closed"),
    "wait": ("ready", "open"),
    "wake": ("ready", "open"),
}
"""States in which there is nothing left to do for a step: it leaves them as they are."""


class BrokenRuleError(AssertionError):
    """Something happened that must never be."""


@dataclass
class World:
    """What is really there.

    Parameters
    ----------
    memory, nodes
        The GB of every GPU, and its machine.
    apart
        Pairs of models that may not share a GPU.
    open_to
        The GPUs that each model may be on.
    rng
        Decides what failures leave.
    """

    memory: dict[str, float]
    nodes: dict[str, str]
    apart: frozenset[frozenset[str]]
    open_to: dict[str, frozenset[str]]
    rng: np.random.Generator
    engines: dict[Engine, str] = field(default_factory=dict)
    known_lost: set[str] = field(default_factory=set)
    """GPUs that everybody knows to be gone."""
    least_open: dict[str, int] = field(default_factory=dict)
    """How many engines of each model must be open at this time."""

    def begin(self, kind, engine):
        """Begin a step; from now on an engine that comes holds its memory."""
        state = self.engines.get(engine, "absent")
        if kind in ("load", "wake") and state in ("absent", "asleep"):
            self._check_place(engine)
            if set(engine[1]) <= set(self.memory) and (kind, state) != ("wake", "absent"):
                self.engines[engine] = "loading"
        elif kind in ("drain", "sleep") and state == "open":
            self.engines[engine] = "closed"
        elif kind == "switch" and state == "loading":
            raise BrokenRuleError(f"{engine} is to get requests before it is ready")
        elif kind == "unload" and state == "open":
            raise BrokenRuleError(f"{engine} is to be unloaded, and may have requests")
        self.check()

    def end(self, kind, engine, failed):
        """End a step; return whether it succeeded."""
        state = self.engines.get(engine, "absent")
        if not failed and state == "wreck" and kind != "unload":
            failed = True
        if not failed and state == "absent" and kind not in ("unload", "sleep", "drain"):
            failed = True
        if failed:
            self._fail(kind, engine, state)
        elif state not in DONE_ALREADY.get(kind, ()):
            self._become(engine, DONE[kind] if state != "absent" else "absent")
        self.check()
        return not failed

    def _fail(self, kind, engine, state):
        if state in ("absent", "wreck"):
            return
        if kind in ("load", "wait", "wake") and state in ("open", "closed"):
            return
        self._become(engine, str(self.rng.choice(FAILED[kind])))

    def lose(self, gpu):
        """Let a GPU go; what else an engine held stays held, and no such engine serves."""
        del self.memory[gpu]
        for engine in [each for each in self.engines if gpu in each[1]]:
            if set(engine[1]).isdisjoint(self.memory) or self.rng.random() < 0.5:
                self._become(engine, "absent")
            elif self.engines[engine] != "asleep":
                self._become(engine, "wreck")
        self.least_open = {}

    def opened(self, model):
        """Return how many engines of a model get requests."""
        return sum(e[0] == model and state == "open" for e, state in self.engines.items())

    def check(self):
        """Raise an error if something is so that must never be."""
        here = {gpu: [] for gpu in self.memory}
        for engine, state in self.engines.items():
            if state in HOLDING:
                for gpu in set(engine[1]) & set(self.memory):
                    here[gpu].append(engine)
        for gpu, engines in here.items():
            held = sum(engine[2] for engine in engines)
            if held > self.memory[gpu] * (1 + 1e-9):
                raise BrokenRuleError(f"{gpu} holds {held:g} of {self.memory[gpu]:g} GB: {engines}")
            for one, two in combinations(engines, 2):
                if one[0] == two[0]:
                    raise BrokenRuleError(f"{gpu} has two engines of {one[0]}: {one} and {two}")
                if frozenset((one[0], two[0])) in self.apart:
                    raise BrokenRuleError(f"{one[0]} and {two[0]} must be apart, and share {gpu}")
        for model, least in self.least_open.items():
            if self.opened(model) < least:
                raise BrokenRuleError(f"{model} has {self.opened(model)} engines, {least} at least")

    def _check_place(self, engine):
        model, gpus, _ = engine
        if gone := self.known_lost.intersection(gpus):
            raise BrokenRuleError(f"{model} is to come to {gone}, which is gone")
        if not self.open_to[model].issuperset(gpus):
            raise BrokenRuleError(f"{model} may not be on {gpus}")
        if len({self.nodes[gpu] for gpu in gpus}) > 1:
            raise BrokenRuleError(f"{model} has shards on several machines: {gpus}")

    def _become(self, engine, state):
        if state == "absent":
            self.engines.pop(engine, None)
        else:
            self.engines[engine] = state
