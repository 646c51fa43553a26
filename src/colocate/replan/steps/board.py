"""The fleet while an order of moves is sought: which engines are there, and what is free.

Every change is kept in a journal, so that a search can take it back.

The slack of a GPU is what is free on it less what is still to come. Where it is not negative,
everything that comes finds room at any moment, in any order.
"""

from collections.abc import Iterable
from typing import NamedTuple

from colocate.problem.tolerance import FIT
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.step import StepKind


class OrderMove(NamedTuple):
    """One move of an order: an engine comes (LOAD), goes (UNLOAD), sleeps or wakes."""

    kind: StepKind
    engine: int
    """Its number on the board."""


class Board:
    """Engines, by number, on GPUs, by number.

    Parameters
    ----------
    change
        The engines before and after.
    """

    def __init__(self, change: FleetChange) -> None:
        self.change = change
        self.gpu_names = list(change.memory_gb)
        number = {gpu: place for place, gpu in enumerate(self.gpu_names)}
        self._number = number
        self._model_number: dict[str, int] = {}
        self.engines: list[PlacedEngine] = []
        self.gpus: list[tuple[int, ...]] = []
        self.model: list[int] = []
        memory = list(change.memory_gb.values())
        self._margin = [amount * FIT for amount in memory]
        self.free = memory[:]
        self.present: list[set[int]] = [set() for _ in memory]
        self.pending: dict[int, StepKind] = {}
        """The engines that are still to come, and whether they are loaded or woken."""
        self.awaited: list[set[int]] = [set() for _ in memory]
        """The same by GPU."""
        self.leaving: dict[int, set[int]] = {}
        """The engines that are still to go, by model."""
        self.open: dict[int, int] = {}
        self.journal: list[OrderMove] = []
        self.stays = [self.add(engine) for engine in change.stays]
        self.goes = [self.add(engine) for engine in change.goes]
        for each in (*self.stays, *self.goes):
            self._take(each)
        for each in self.goes:
            self.leaving.setdefault(self.model[each], set()).add(each)
        self.slack = self.free[:]
        self.comes = [self.add(engine) for engine in change.comes]
        for each in self.comes:
            self._await(each, StepKind.LOAD)
        names = {place: model for model, place in self._model_number.items()}
        self.fewest = {place: change.fewest.get(model, 0) for place, model in names.items()}
        self._enemies = self._who_is_apart()

    def _who_is_apart(self) -> dict[int, set[int]]:
        """Return, for every model, those that it shares no GPU with.

        Two engines of one model share none either: nobody could tell which of them is to leave.
        """
        found = {place: {place} for place in self._model_number.values()}
        for pair in self.change.apart:
            numbers = [self._model_number[m] for m in pair if m in self._model_number]
            for one in numbers:
                found[one].update(numbers)
        return found

    def add(self, engine: PlacedEngine) -> int:
        """Give an engine a number; it is nowhere yet."""
        self.engines.append(engine)
        self.gpus.append(tuple(self._number[gpu] for gpu in engine.gpus))
        self.model.append(self._model_number.setdefault(engine.model, len(self._model_number)))
        return len(self.engines) - 1

    def fits(self, engine: int) -> bool:
        """Whether an engine has room on its GPUs now, and nobody there keeps it out."""
        held = self.engines[engine].held_gb
        return all(
            self.free[gpu] + self._margin[gpu] >= held for gpu in self.gpus[engine]
        ) and not self.is_kept_out(engine)

    def is_kept_out(self, engine: int) -> bool:
        """Whether its model, or one that must be apart from it, is on one of an engine's GPUs."""
        enemies = self._enemies[self.model[engine]]
        return any(
            self.model[other] in enemies for gpu in self.gpus[engine] for other in self.present[gpu]
        )

    def is_welcome(self, engine: int, gpu: int) -> bool:
        """Whether none of its model, and none of its rivals, is on a GPU or comes there."""
        enemies = self._enemies[self.model[engine]]
        here = (*self.present[gpu], *self.awaited[gpu])
        return not any(self.model[other] in enemies for other in here)

    def is_tight(self, gpu: int) -> bool:
        """Whether what comes to a GPU must wait for what goes."""
        return self.slack[gpu] < -self._margin[gpu]

    def is_safe(self, engine: int) -> bool:
        """Whether an engine can come now and blocks nobody by it."""
        return not any(self.is_tight(gpu) for gpu in self.gpus[engine]) and not self.is_kept_out(
            engine
        )

    def has_spare(self, gpu: int, held: float) -> bool:
        """Whether a GPU has so much room that nothing which comes needs."""
        return self.slack[gpu] + self._margin[gpu] >= held

    def come(self, engine: int) -> None:
        """Let an engine come that is awaited."""
        kind = self._forget(engine)
        self._take(engine)
        self.journal.append(OrderMove(kind, engine))

    def go(self, engine: int) -> None:
        """Let an engine go that is to leave, whether its model is served without it or not."""
        self.leaving[self.model[engine]].remove(engine)
        self._give(engine)
        for gpu in self.gpus[engine]:
            self.slack[gpu] += self.engines[engine].held_gb
        self.journal.append(OrderMove(StepKind.UNLOAD, engine))

    def sleep(self, engine: int) -> None:
        """Let an engine that stays sleep; it is awaited from then on."""
        self._give(engine)
        self._expect(engine, StepKind.WAKE)
        self.journal.append(OrderMove(StepKind.SLEEP, engine))

    def come_for_a_while(self, engine: int) -> None:
        """Let an engine come that is not awaited, and is to leave again."""
        for gpu in self.gpus[engine]:
            self.slack[gpu] -= self.engines[engine].held_gb
        self._take(engine)
        self.leaving.setdefault(self.model[engine], set()).add(engine)
        self.journal.append(OrderMove(StepKind.LOAD, engine))

    def send_away(self, engine: int) -> int:
        """Let an engine that stays be one that leaves and comes again; return the new one."""
        self.leaving.setdefault(self.model[engine], set()).add(engine)
        again = self.add(self.engines[engine])
        self._await(again, StepKind.LOAD)
        return again

    def keep_after_all(self, engine: int, again: int) -> None:
        """Take back that an engine leaves and comes again."""
        self.leaving[self.model[engine]].remove(engine)
        self._forget(again)
        for gpu in self.gpus[engine]:
            self.slack[gpu] += self.engines[engine].held_gb

    def take_back(self, length: int) -> None:
        """Undo all moves after the first so many of the journal."""
        while len(self.journal) > length:
            kind, engine = self.journal.pop()
            held = self.engines[engine].held_gb
            if kind is StepKind.SLEEP:
                self._forget(engine)
                self._take(engine)
            elif kind is StepKind.UNLOAD:
                self._take(engine)
                self.leaving[self.model[engine]].add(engine)
                for gpu in self.gpus[engine]:
                    self.slack[gpu] -= held
            else:
                self._give(engine)
                temporary = engine in self.leaving.get(self.model[engine], ())
                if temporary:
                    self.leaving[self.model[engine]].remove(engine)
                    for gpu in self.gpus[engine]:
                        self.slack[gpu] += held
                else:
                    self._expect(engine, kind)

    def may_go(self, model: int) -> list[int]:
        """Return the engines of a model of which some may go now."""
        leaving = self.leaving.get(model)
        if not leaving or self.open[model] <= self.fewest[model]:
            return []
        return sorted(leaving)

    def must_choose(self, model: int) -> bool:
        """Whether only some of the engines of a model that leave may go now."""
        return self.open[model] - len(self.leaving.get(model, ())) < self.fewest[model]

    def is_served(self, engines: Iterable[int]) -> bool:
        """Whether the models of some engines have as many open engines as they should."""
        return all(self.open[m] >= self.fewest[m] for m in {self.model[e] for e in engines})

    def _expect(self, engine: int, kind: StepKind) -> None:
        self.pending[engine] = kind
        for gpu in self.gpus[engine]:
            self.awaited[gpu].add(engine)

    def _forget(self, engine: int) -> StepKind:
        for gpu in self.gpus[engine]:
            self.awaited[gpu].remove(engine)
        return self.pending.pop(engine)

    def _await(self, engine: int, kind: StepKind) -> None:
        self._expect(engine, kind)
        self.open.setdefault(self.model[engine], 0)
        for gpu in self.gpus[engine]:
            self.slack[gpu] -= self.engines[engine].held_gb

    def _take(self, engine: int) -> None:
        for gpu in self.gpus[engine]:
            self.free[gpu] -= self.engines[engine].held_gb
            self.present[gpu].add(engine)
        self.open[self.model[engine]] = self.open.get(self.model[engine], 0) + 1

    def _give(self, engine: int) -> None:
        for gpu in self.gpus[engine]:
            self.free[gpu] += self.engines[engine].held_gb
            self.present[gpu].remove(engine)
        self.open[self.model[engine]] -= 1
