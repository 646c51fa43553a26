"""How engines of the slow simulator share GPUs: side by side, or by turns in slices of time.

Both know workers, which have work for some seconds, and tell when the next one is done with it.
"""

from collections import deque
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np

from colocate.latency.law import seen_turn, turn_of, turns
from colocate.problem.sharing import (
    CHANGE_SECONDS,
    COSTS,
    OF_LAYERS,
    PREFILL_AHEAD,
    PREFILL_HEAD,
    QUANTUM,
)


class SideBySide:
    """Engines under MPS, or alone: everybody works at once, at a pace that the others set."""

    def __init__(self, sharing, workers):
        self.costs = np.array(COSTS[sharing])
        self.shares = self.costs[OF_LAYERS] > 0.0
        self.workers = workers
        self.left = {}
        self.now = 0.0

    def set_out(self, worker, now):
        """Let a worker begin what it has chosen to do."""
        self.left[worker] = worker.length

    def ends(self):
        return {each: self.now + left / self.pace(each) for each, left in self.left.items()}

    def next(self):
        return min(self.ends().values(), default=inf)

    def go_on(self, then):
        """Let time go by up to a moment, at which something happens."""
        ends = self.ends()
        paces = {worker: self.pace(worker) for worker in self.left}
        for worker, end in ends.items():
            if end <= then:
                self.left[worker] = 0.0
            else:
                self.left[worker] -= paces[worker] * (then - self.now)
        self.now = then

    def happen(self):
        """Let the next thing happen; return the worker that is done with its work."""
        ends = self.ends()
        done = min((each for each in self.workers if each in ends), key=lambda each: ends[each])
        del self.left[done]
        return done

    def hand_over(self):
        """Nobody waits for a GPU."""

    def pace(self, worker):
        """Return how fast it works beside the others, as a share of alone."""
        count = turns(worker.work, worker.speed.layers, self.costs)
        if worker.length <= 0.0 or count <= 0.0 or not self.shares:
            return 1.0
        waits = []
        for gpu in worker.gpus:
            others = [each for each in self.left if each is not worker and gpu in each.gpus]
            lengths = [turn_of(each.work, each.speed.layers, self.costs) for each in others]
            own = worker.work / count
            waits.append(sum(seen_turn(each, own, self.costs) for each in lengths if each > 0.0))
        return worker.length / (worker.length + count * max(waits))


@dataclass(eq=False)
class Share:
    """What a worker has to do on one of its GPUs."""

    worker: object
    begun: float
    """When its host began to launch it."""
    done: float = 0.0

    @property
    def left(self):
        return self.worker.work - self.done


@dataclass(eq=False)
class Turn:
    """A share that has a GPU."""

    share: Share
    began: float
    pace: float
    """Seconds of its work in a second."""
    most: float
    """Seconds of its work that are launched."""
    waited_for: float
    """Since when somebody waits for its end."""

    @property
    def end(self):
        with_work = self.began + self.most / self.pace
        if self.waited_for == inf:
            return with_work
        slices = max(ceil((self.waited_for - self.began) / QUANTUM), 1)
        return min(with_work, self.began + slices * QUANTUM)


@dataclass(eq=False)
class Device:
    """A GPU, who has it, and who waits for it."""

    row: deque = field(default_factory=deque)
    turn: Turn | None = None
    last: object = None
    """The worker that had the turn before."""
    ended: float = -inf
    """The end of that turn."""


class Slices:
    """Time slices: whoever has waited longest gets the GPU, for a slice or until it is done."""

    def __init__(self, names):
        self.devices = {name: Device() for name in names}
        self.shares = {}
        self.now = 0.0

    def set_out(self, worker, now):
        """Let a worker wait for its turn on all of its GPUs with new work."""
        self.shares[worker] = len(worker.gpus)
        for gpu in worker.gpus:
            device = self.devices[gpu]
            device.row.append(Share(worker, now))
            if device.turn is None:
                self.give(device)
            else:
                device.turn.waited_for = min(device.turn.waited_for, now)

    def next(self):
        return min((each.turn.end for each in self.devices.values() if each.turn), default=inf)

    def go_on(self, then):
        self.now = then

    def happen(self):
        """End a turn; return the worker that has done its work with it, if it has."""
        device = min(
            (each for each in self.devices.values() if each.turn), key=lambda each: each.turn.end
        )
        turn, device.turn = device.turn, None
        device.ended = turn.end
        share = turn.share
        by_work = turn.began + turn.most / turn.pace <= turn.end
        if by_work and turn.most == share.left:
            self.shares[share.worker] -= 1
            return share.worker if not self.shares[share.worker] else None
        share.done += turn.most if by_work else (turn.end - turn.began) * turn.pace
        device.row.append(share)
        return None

    def hand_over(self):
        """Give GPUs that nobody has to those who wait."""
        for device in self.devices.values():
            if device.turn is None and device.row:
                self.give(device)

    def give(self, device):
        """Let the share that has waited longest have its turn."""
        share, now = device.row.popleft(), self.now
        worker = share.worker
        if device.last is not worker:
            now = max(now, device.ended + CHANGE_SECONDS)
        device.last = worker
        others = [each.worker for each in device.row]
        pace, most = 1.0, share.left
        if not worker.reads:
            now = max(now, share.begun + worker.length - worker.work)
        elif others:
            most = min(most, self.launched(share, now))
            if any(each.reads for each in others):
                pace = 1.0 / PREFILL_AHEAD
        else:
            end = share.begun + worker.length
            pace = min(1.0, share.left / (end - now)) if end > now else 1.0
        device.turn = Turn(share, now, pace, most, now if others else inf)

    def launched(self, share, now):
        """Return how much of a prompt the host has launched for a turn beside others."""
        if share.done == 0.0:
            share.begun = now
        in_a_second = share.worker.work / share.worker.length
        ahead = PREFILL_AHEAD * (now - share.begun) * in_a_second
        return max(ahead - share.done, PREFILL_HEAD * in_a_second)
