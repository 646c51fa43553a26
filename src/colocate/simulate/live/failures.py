"""Engines that fail while others come and go."""

from dataclasses import dataclass

from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.events import fail
from colocate.simulate.options import EngineFailure
from colocate.simulate.replay import RequestReplay


@dataclass(frozen=True)
class ReplicaFailure:
    """One of the engines fails that take requests of a model at the moment, if there is such."""

    model: int
    failure: EngineFailure

    def __call__(self, replay: RequestReplay, now: float) -> None:
        """Let it happen."""
        if self.failure.replica < replay.state.models[self.model, columns.ENGINES]:
            fail(replay.state, replay.engine_of(self.failure), now, self.failure.seconds)
