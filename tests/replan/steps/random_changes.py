"""Random changes of small fleets, and a fleet that executes steps, with failures."""

from dataclasses import dataclass, field

import numpy as np

from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.step import StepKind


def random_change(seed, gpus=4, models=8, fill=0.9):
    """A change between two random placements that both fit."""
    rng = np.random.default_rng(seed)
    memory = {f"g{n}": 80.0 for n in range(gpus)}
    node_of = {gpu: f"n{n // 4}" for n, gpu in enumerate(memory)}
    sizes = {f"m{n}": float(rng.integers(10, 60)) for n in range(models)}
    now = _placed(rng, memory, node_of, sizes, fill)
    then = _placed(rng, memory, node_of, {m: sizes[m] for m in sizes}, fill)
    asleep = frozenset(m for m in sizes if rng.random() < 0.2)
    apart = frozenset()
    demand = {m: float(rng.integers(1, 20)) for m in sizes}
    if rng.random() < 0.3:
        apart = _never_together(rng, now, then, list(sizes))
    return FleetChange(memory, now, then, node_of, demand, {}, asleep, apart)


def _placed(rng, memory, node_of, sizes, fill):
    free = {gpu: amount * fill for gpu, amount in memory.items()}
    engines = []
    for model in sorted(sizes, key=lambda _: rng.random()):
        wide = 2 if rng.random() < 0.15 else 1
        for _ in range(2 if rng.random() < 0.2 else 1):
            held = sizes[model] / wide
            open_to = [g for g in memory if free[g] >= held and _is_new(engines, model, g)]
            rng.shuffle(open_to)
            for gpu in open_to:
                mates = [g for g in open_to if node_of[g] == node_of[gpu]][:wide]
                if len(mates) == wide:
                    for mate in mates:
                        free[mate] -= held
                    engines.append(PlacedEngine(model, tuple(sorted(mates)), held, sizes[model]))
                    break
    return tuple(engines)


def _is_new(engines, model, gpu):
    return not any(e.model == model and gpu in e.gpus for e in engines)


def _never_together(rng, now, then, models):
    pairs = {frozenset(rng.choice(models, 2, replace=False).tolist()) for _ in range(3)}
    for engines in (now, then):
        for one in engines:
            for two in engines:
                if not set(one.gpus).isdisjoint(two.gpus):
                    pairs.discard(frozenset((one.model, two.model)))
    return frozenset(pairs)


@dataclass
class ExecutedFleet:
    """A fleet that does steps, each in a random time, and some of which fail."""

    change: FleetChange
    steps: tuple
    rng: np.random.Generator
    failing: float = 0.0
    held: dict = field(default_factory=dict)
    open: dict = field(default_factory=dict)
    """How many engines serve, by engine."""
    running: dict = field(default_factory=dict)
    """How many engines hold memory, by engine."""
    fewest: dict = field(default_factory=dict)
    """The fewest engines that a model had at any moment."""
    most: dict = field(default_factory=dict)
    """The most GB that a GPU held at any moment."""
    failed: set = field(default_factory=set)

    def __post_init__(self):
        self.held = dict.fromkeys(self.change.memory_gb, 0.0)
        self.most = dict(self.held)
        for engine in self.change.now:
            self._take(engine)
            self.open[engine] = self.open.get(engine, 0) + 1
        for engine in self.change.now:
            self.fewest[engine.model] = self.serving(engine.model)

    def serving(self, model):
        return sum(number for engine, number in self.open.items() if engine.model == model)

    def run(self):
        """Do all steps that can be done; return the engines that are open at the end."""
        waiting = list(self.steps)
        done, ended, under_way, now = set(), set(), {}, 0.0
        while True:
            for step in list(waiting):
                if set(step.after) & self.failed or any(a in self._skipped for a in step.after):
                    waiting.remove(step)
                    self._skipped.add(step.number)
                    ended.add(step.number)
            started = False
            for step in list(waiting):
                if set(step.after) <= done and set(step.behind) <= ended:
                    waiting.remove(step)
                    self._begin(step)
                    under_way[step.number] = now + self.rng.exponential(1.0)
                    started = True
            if started or self._cascade(waiting):
                continue
            if not under_way:
                break
            number = min(under_way, key=under_way.get)
            now = under_way.pop(number)
            ended.add(number)
            if self.rng.random() < self.failing:
                self.failed.add(number)
                self._fail(self.steps[number])
            else:
                done.add(number)
                self._end(self.steps[number])
        self.done = done
        return [engine for engine, number in self.open.items() for _ in range(number)]

    _skipped: set = field(default_factory=set)

    def _cascade(self, waiting):
        return any(set(s.after) & (self.failed | self._skipped) for s in waiting)

    def _begin(self, step):
        if step.kind in (StepKind.LOAD, StepKind.WAKE):
            self._take(step.engine)
        elif step.kind is StepKind.DRAIN:
            self._close(step.engine)

    def _end(self, step):
        if step.kind is StepKind.SWITCH:
            self.open[step.engine] = self.open.get(step.engine, 0) + 1
        elif step.kind in (StepKind.UNLOAD, StepKind.SLEEP):
            self._give(step.engine)

    def _fail(self, step):
        """Take back what a step began."""
        if step.kind in (StepKind.LOAD, StepKind.WAIT) or step.kind is StepKind.WAKE:
            self._give(step.engine)
        elif step.kind in (StepKind.DRAIN, StepKind.UNLOAD, StepKind.SLEEP):
            self.open[step.engine] = self.open.get(step.engine, 0) + 1
        elif step.kind is StepKind.SWITCH:
            self._give(step.engine)

    def _close(self, engine):
        self.open[engine] -= 1
        model = engine.model
        self.fewest[model] = min(self.fewest.get(model, 0), self.serving(model))

    def _take(self, engine):
        self.running[engine] = self.running.get(engine, 0) + 1
        for gpu in engine.gpus:
            self.held[gpu] += engine.held_gb
            self.most[gpu] = max(self.most[gpu], self.held[gpu])

    def _give(self, engine):
        self.running[engine] -= 1
        for gpu in engine.gpus:
            self.held[gpu] -= engine.held_gb
