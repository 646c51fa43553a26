"""The loops that an engine runs: open, with arrivals in real time, and closed.

Between two steps the host does only what is written here, some microseconds of work.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from time import perf_counter, sleep

from benchmarks.gpu.schedule import Schedule

SPIN = 0.0005
"""Seconds before a moment from which the host watches the clock instead of sleeping."""


@dataclass(frozen=True)
class Record:
    """What an open loop did; all moments are seconds from its start."""

    schedule: Schedule
    seconds: float
    admitted: dict[int, float] = field(default_factory=dict)
    first: dict[int, float] = field(default_factory=dict)
    finished: dict[int, float] = field(default_factory=dict)
    steps: list[float] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    prefills: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    mixed: list[tuple[int, int, float]] = field(default_factory=list)
    """Steps with pieces of prompts: requests that decode, tokens of the pieces, and seconds."""
    sent_back: list[int] = field(default_factory=list)
    """Requests that lost their cache, once for every time."""


def wait_until(moment: float) -> float:
    """Sleep, then watch the clock; return the moment when the wait was over."""
    while (now := perf_counter()) < moment:
        if moment - now > SPIN:
            sleep(moment - now - SPIN)
    return now


def run_open(
    step: Callable[[int], None],
    prefill: Callable[[int, int], None],
    record: Record,
    start: float,
    slots: int,
    prompt_tokens: int,
) -> Record:
    """Serve the schedule with continuous batching until its time is over.

    A prompt that has arrived is prefilled as soon as a slot is free, before further decoding.

    Parameters
    ----------
    step
        Decodes one token for a batch of so many requests.
    prefill
        Prefills a prompt of so many tokens into a slot, which gives its first token.
    record
        An empty one of the schedule; it is filled.
    start
        Moment on `perf_counter` that all arrivals count from.
    slots
        Most requests at once.
    prompt_tokens
        Of every request.
    """
    arrivals = [start + moment for moment in record.schedule.arrivals] + [inf]
    outputs, end, clock = record.schedule.outputs, start + record.seconds, perf_counter
    last_steps: list[tuple[int, int]] = []  # of requests in work: their last step, their number
    following = done_steps = 0
    now = wait_until(start)
    while now < end:
        if arrivals[following] <= now and len(last_steps) < slots:
            prefill(prompt_tokens, following % slots)
            done = clock()
            record.admitted[following] = now - start
            record.first[following] = done - start
            record.prefills.append(done - now)
            heappush(last_steps, (done_steps + outputs[following] - 1, following))
            following += 1
        elif last_steps:
            batch = len(last_steps)
            step(batch)
            done = clock()
            done_steps += 1
            record.steps.append(done - now)
            record.batches.append(batch)
            while last_steps and last_steps[0][0] <= done_steps:
                record.finished[heappop(last_steps)[1]] = done - start
        else:
            done = wait_until(min(arrivals[following], end))
            record.idle.append(done - now)
        now = done
    return record


def run_closed(act: Callable[[], None], start: float, seconds: float) -> list[float]:
    """Act again and again; return the seconds that each act took."""
    end, clock, times = start + seconds, perf_counter, []
    now = wait_until(start)
    while now < end:
        act()
        done = clock()
        times.append(done - now)
        now = done
    return times
