"""One round of a probe: several requests at once, and what they tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from threading import Event, Thread
from time import perf_counter, process_time

from colocate.errors import ColocateError
from colocate.inputs.calibration.readings import PrefillReading, StepReading
from colocate.inputs.calibration.streaming import Stream, StreamAnswer

WAIT = 0.05
"""Seconds between looks at the clock."""
LEAST_STEPS = 8
"""Steps that a reading is the mean of, at least: the ends of a shorter window are too uncertain."""
MOST_OWN_WORK = 0.8
"""Share of a processor at which the reader of the streams may be what limits them."""


@dataclass(frozen=True)
class ProbeRound:
    """Requests that were made at once.

    Parameters
    ----------
    answers
        What came back, if it is whole.
    words
        Of each prompt.
    seconds
        How long it took.
    own_work
        Share of a processor that the reader needed.
    was_cut
        Whether it was ended before its time.
    """

    answers: tuple[StreamAnswer, ...]
    words: int
    seconds: float
    own_work: float
    was_cut: bool

    @property
    def is_own_fault(self) -> bool:
        """Whether the reader may have been too slow for the server."""
        return self.own_work > MOST_OWN_WORK

    @property
    def at_once(self) -> int:
        """How many answers were written at the same time, at most."""
        ends = [(answer.arrivals[0], 1) for answer in self.answers if answer.arrivals]
        ends += [(answer.arrivals[-1], -1) for answer in self.answers if answer.arrivals]
        most = now = 0
        for _, change in sorted(ends):
            now += change
            most = max(most, now)
        return most

    def step(self) -> StepReading | None:
        """Return what a step took while all requests were in work, None if they never were."""
        if self.was_cut or self.is_own_fault or not all(each.arrivals for each in self.answers):
            return None
        begin = max(answer.arrivals[0] for answer in self.answers)
        end = min(answer.arrivals[-1] for answer in self.answers)
        windows = [_window(answer, begin, end) for answer in self.answers]
        if any(steps < LEAST_STEPS for _, steps, _ in windows):
            return None
        contexts = [
            self._prompt_tokens(answer) + middle
            for answer, (_, _, middle) in zip(self.answers, windows, strict=True)
        ]
        times = [1000.0 * seconds / steps for seconds, steps, _ in windows]
        return StepReading(len(windows), sum(contexts) / len(contexts), median(times))

    def prefill(self) -> PrefillReading | None:
        """Return what the prompt of a lone request took, None if there were several."""
        if self.was_cut or len(self.answers) != 1 or not self.answers[0].arrivals:
            return None
        answer = self.answers[0]
        return PrefillReading(
            self._prompt_tokens(answer), 1000.0 * (answer.arrivals[0] - answer.sent)
        )

    def _prompt_tokens(self, answer: StreamAnswer) -> float:
        return float(answer.prompt_tokens or self.words)


def run_round(streams: Sequence[Stream], words: int, end: float, stop: Event) -> ProbeRound:
    """Read streams at once, each in a thread of its own.

    Parameters
    ----------
    streams
        The requests.
    words
        Of each prompt.
    end
        The moment of `perf_counter` at which all are cut off.
    stop
        Cuts them off earlier.

    Raises
    ------
    ServerError
        If one of the requests failed.
    """
    answers: dict[int, StreamAnswer] = {}
    errors: list[ColocateError] = []

    def read(place: int) -> None:
        try:
            answers[place] = streams[place].read(max(end - perf_counter(), WAIT))
        except ColocateError as error:
            errors.append(error)

    threads = [Thread(target=read, args=(place,), daemon=True) for place in range(len(streams))]
    begin, worked = perf_counter(), process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and perf_counter() < end and not stop.is_set():
            thread.join(WAIT)
    late = any(thread.is_alive() for thread in threads)
    if late:
        for stream in streams:
            stream.cut()
    elif errors:
        raise errors[0]
    seconds = perf_counter() - begin
    own_work = (process_time() - worked) / seconds
    whole = tuple(answers[place] for place in sorted(answers)) if not late else ()
    return ProbeRound(whole, words, seconds, own_work, late)


def _window(answer: StreamAnswer, begin: float, end: float) -> tuple[float, float, float]:
    """Return seconds and steps of an answer between two moments, and its tokens half-way."""
    inside = [place for place, at in enumerate(answer.arrivals) if begin <= at <= end]
    if len(inside) < 2:
        return 0.0, 0.0, 0.0
    first, last = inside[0], inside[-1]
    each = answer.tokens_per_arrival
    seconds = answer.arrivals[last] - answer.arrivals[first]
    return seconds, each * (last - first), each * (first + last) / 2.0
