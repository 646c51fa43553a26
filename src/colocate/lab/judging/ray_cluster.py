"""Judges programs on a Ray cluster when one machine is not enough.

Every node needs colocate installed. The same referee judges programs in the same walls, so the
verdicts are those of one machine.
"""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from colocate.arena.contest import Contest
from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.verdict import Verdict
from colocate.errors import ColocateError, InputError

WANTED = "must be the address of a running cluster"
SECONDS_TO_KNOCK = 5.0
"""Seconds within which a cluster on any network opens a connection."""


@dataclass(frozen=True)
class RayEvaluation:
    """Sandboxes on the nodes of a cluster, one per free core."""

    referee: Referee
    ray: Any

    def judge(
        self, sources: Iterable[str], contest: Contest, repeats: Repeats
    ) -> Iterator[tuple[int, Verdict]]:
        """Yield the place of every source and the verdict on it, as they come."""
        task = self.ray.remote(num_cpus=1, max_retries=3)(_judged)
        places = {
            task.remote(replace(self.referee), source, contest.digest, repeats): place
            for place, source in enumerate(sources)
        }
        waiting = list(places)
        while waiting:
            (ready, *_), waiting = self.ray.wait(waiting, num_returns=1)
            yield places[ready], Verdict.from_dict(self._fetched(ready))

    def _fetched(self, reference: Any) -> dict[str, Any]:
        try:
            return dict(self.ray.get(reference))
        except self.ray.exceptions.RayError as error:
            raise ColocateError(f"the Ray cluster lost a program: {error}") from error


@contextmanager
def connected(address: str, referee: Referee) -> Iterator[RayEvaluation]:
    """Join a cluster for as long as the context lasts."""
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise InputError("--ray needs Ray: pip install 'colocate[ray]'") from error
    _knock(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"ray={address!r}, {WANTED}: {error}") from error
    try:
        yield RayEvaluation(referee, ray)
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Check that the cluster answers: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.removeprefix("ray://"), int(port)), SECONDS_TO_KNOCK).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"ray={address!r}, {WANTED}: {error}") from error


def _judged(referee: Referee, source: str, digest: str, repeats: Repeats) -> dict[str, Any]:
    """Judge a program on the node where this runs."""
    found = referee.contest.digest
    if found != digest:
        raise ColocateError(f"the node has another version of colocate or of the task: {found}")
    return referee.judge_source(source, repeats=repeats).as_dict()
