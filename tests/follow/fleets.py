"""A small fleet with two GPUs, what may be measured of it, and a watch with everything made up."""

from threading import Event

from colocate.follow.engine_records import EngineRecord
from colocate.follow.state import WatchState
from colocate.follow.watch import Surroundings, Watch
from colocate.inputs.fleet import fleet_of
from colocate.inputs.observation.burstiness import Burstiness
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.observation import Basis, ModelObservation, Observation
from colocate.inputs.observation.predictability import Predictability
from colocate.replan.placed_engine import engines_of
from colocate.replan.policy.settings import PolicySettings

BINS, BIN_SECONDS = 60, 15.0


def small_fleet(**changes):
    """Return three models on two GPUs."""
    model = {"slo": 6, "prompt_tokens": 500, "output_tokens": 150, "tpot_slo": 0.05}
    models = [
        {"name": "chat", "config": "Llama-3.1-8B-Instruct", "rate": 2.0, **model},
        {"name": "code", "config": "Qwen2.5-7B-Instruct", "rate": 2.0, **model},
        {"name": "tiny", "config": "Llama-3.2-1B-Instruct", "rate": 1.0, **model},
    ]
    gpus = [{"name": "g", "kind": "H100-80GB", "count": 2}]
    return fleet_of({"gpus": gpus, "models": models, "sharing": "slices", **changes})


PLACES = {"chat": ("g-0",), "code": ("g-0",), "tiny": ("g-1",)}
"""Badly placed: two busy ones share a GPU."""


def measured(**rates):
    """Return what a source tells of some models, at steady rates."""
    return Observation(
        "made up",
        "prometheus",
        1000.0,
        BIN_SECONDS,
        BINS * BIN_SECONDS,
        1000.0 + BINS * BIN_SECONDS,
        tuple(
            ModelObservation(
                name,
                Basis.STARTED,
                Estimate(rate, 0.1 * rate),
                (rate,) * BINS,
                Burstiness(1.0, rate),
                Predictability(600.0, 300.0, *[None] * (len(Predictability._fields) - 2)),
                Estimate(500.0, 10.0),
                Estimate(150.0, 5.0),
            )
            for name, rate in rates.items()
        ),
    )


class Fixture:
    """A watch whose source, clock and steps are scripted."""

    def __init__(self, folder, fleet=None, places=PLACES, dry=False, memory="elastic"):
        self.fleet = fleet or small_fleet()
        self.told, self.noted, self.performed, self.shown = [], [], [], []
        self.observation = measured(chat=2.0, code=2.0, tiny=1.0)
        self.failing, self.now, self.stop = set(), 10_000.0, Event()
        settings = PolicySettings(memory=memory)
        engines = engines_of(self.fleet.problem, places, memory, {})
        self.watch = Watch(
            folder,
            Surroundings(
                self.read_fleet,
                self.observe,
                None if dry else self.perform,
                self.hear,
                lambda: self.now,
                self.shown.append,
            ),
            self.fleet,
            folder.read() or WatchState(tuple(map(EngineRecord, engines))),
            settings,
            1,
            self.stop,
        )

    def hear(self, words):
        """Take a sentence; notes about the source are apart."""
        (self.noted if words.startswith("note: ") else self.told).append(words)

    def read_fleet(self):
        if isinstance(self.fleet, Exception):
            raise self.fleet
        return self.fleet

    def observe(self):
        if isinstance(self.observation, Exception):
            raise self.observation
        return self.observation

    def perform(self, step):
        self.now += 1.0
        self.performed.append((step.kind.value, step.engine.model, step.engine.gpus))
        return (step.kind.value, step.engine.model) not in self.failing
