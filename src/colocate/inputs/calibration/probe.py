"""A probe of a running server: rounds of requests, from one at a time to many, short to long.

Every round makes requests of one length at once and is one reading. The first pass goes from few
requests to many, so that it finds out how many the server takes; later ones are in random order,
so that what changes meanwhile looks like noise. Each prompt is new, so that no cache knows it.
"""

from collections.abc import Callable, Iterator
from math import ceil
from statistics import median
from threading import Event
from time import perf_counter

import numpy as np

from colocate.errors import ServerError
from colocate.inputs.calibration.dialect import NOT_UNDERSTOOD, Dialect, random_prompt
from colocate.inputs.calibration.probe_round import LEAST_STEPS, ProbeRound, run_round
from colocate.inputs.calibration.probe_settings import ProbeFindings, ProbeSettings
from colocate.inputs.calibration.readings import StepReading
from colocate.inputs.calibration.streaming import Stream
from colocate.inputs.server.address import ServerAddress

SHORTEST_PROMPT = 16
"""In words: below this, a prompt costs what none costs."""
FIRST_WORDS = 64
"""Of the prompts that find out how fast the server is."""
MOST_STEPS = 48
"""Steps that a reading is the mean of, at most: more of them tell less than another round."""
MOST_STAGGER = 464
"""Tokens that early answers may need more than late ones, since prompts are read one by one."""
READINGS = 40
"""Rounds that the time should be enough for."""
PREFILLS = 60
"""The longest prompt takes one of so many parts of the time."""
LONGEST_ROUND = 8
"""A round may take one of so many parts of the time."""
MOST_FAILURES = 3
"""Rounds in a row, after which the server is broken."""
TRIES = 2
"""Rounds without all requests in work at once, after which there are to be fewer of them."""
LONE_ROUNDS = 3
"""Of a lone request in a pass: only these tell of prefills, and they are short."""
TIMES_LONGER = 4
"""What a prompt is to the next shorter one."""
TOO_MANY, TOO_LONG = (429, 503), (*NOT_UNDERSTOOD, 413)
"""HTTP status codes of a server that has too much to do, and of a prompt that is too long."""


class Probe:
    """Asks one server until its time is over.

    Parameters
    ----------
    address
        The server.
    model
        As the server calls it.
    settings
        How much to ask.
    stop
        Ends it earlier.
    report
        Is told requests at once and words of a prompt before each round.
    """

    def __init__(
        self,
        address: ServerAddress,
        model: str,
        settings: ProbeSettings,
        stop: Event,
        report: Callable[[int, int], None],
    ) -> None:
        self._address, self._settings, self._stop, self._report = address, settings, stop, report
        self._end = perf_counter() + settings.seconds
        self._random = np.random.default_rng(settings.seed)
        self.findings = ProbeFindings(Dialect(model))
        self._first_token: dict[int, float] = {}
        self._step = 0.0
        self._took: dict[tuple[int, int], float] = {}
        self._missed: dict[tuple[int, int], int] = {}
        self._shortest = SHORTEST_PROMPT

    def run(self) -> ProbeFindings:
        """Return what was found when the time is over.

        Raises
        ------
        ServerError
            If the server gives no answers that a reading can be made of.
        """
        lengths = self._warm_up()
        first, in_a_row = True, 0
        while not self._is_over():
            before = self.findings.rounds, self.findings.failures
            for requests, words in self._cells(lengths, in_order=first):
                if self._is_over():
                    break
                try:
                    self._measure(requests, words)
                    in_a_row = 0
                except ServerError as error:
                    in_a_row += 1
                    lengths = self._after_failure(error, requests, words, lengths, in_a_row)
            first = False
            if (self.findings.rounds, self.findings.failures) == before:
                break  # nothing that is left to measure fits into the time that is left
        self.findings.interrupted = self._stop.is_set()
        if not self.findings.steps and not self.findings.interrupted:
            raise self._address.fault(
                f"no reading within {self._settings.seconds:g} s; raise --seconds"
            )
        return self.findings

    def _is_over(self) -> bool:
        return self._stop.is_set() or perf_counter() >= self._end

    def _cells(self, lengths: list[int], in_order: bool) -> Iterator[tuple[int, int]]:
        """Yield requests at once and words of their prompts, as many as the server takes."""
        counts = [1]
        while counts[-1] < self._settings.most_requests:
            counts.append(min(2 * counts[-1], self._settings.most_requests))
        often = [*[1] * (LONE_ROUNDS - 1), *counts]
        cells = [(count, words) for count in often for words in lengths]
        if not in_order:
            cells = [cells[place] for place in self._random.permutation(len(cells))]
        for count, words in cells:
            fewer, shorter = self.findings.too_many, self.findings.too_long
            hopeless = self._missed.get((count, words), 0) >= TRIES
            if (fewer or count + 1) > count and (shorter or words + 1) > words and not hopeless:
                yield count, words

    def _warm_up(self) -> list[int]:
        """Find the dialect of the server and how fast it is; return words of prompts to try."""
        self._find_dialect()
        for _ in range(TRIES):
            self._step_of(self._round(1, FIRST_WORDS, LEAST_STEPS + 1))
        per_word = self._first_token.get(FIRST_WORDS, 0.0) / FIRST_WORDS
        longest = self._settings.longest_prompt
        if per_word > 0:
            longest = min(longest, ceil(self._settings.seconds / PREFILLS / per_word))
        lengths = _lengths(max(longest, SHORTEST_PROMPT))
        self._shortest = lengths[0]
        return lengths

    def _find_dialect(self) -> None:
        first: ServerError | None = None
        while True:
            try:
                self._round(1, SHORTEST_PROMPT, LEAST_STEPS)
                return
            except ServerError as error:
                first = first or error
                other = self.findings.dialect.other(error.status)
                if other is None or self._is_over():
                    raise first from None
                self.findings.dialect = other

    def _measure(self, requests: int, words: int) -> None:
        """Make one round and keep what it tells, unless it would take too long."""
        stagger = self._stagger(requests, words)
        if stagger > MOST_STAGGER or self._expected(requests, words) > self._longest_round():
            return
        for _ in range(TRIES):
            round_ = self._round(requests, words, self._steps() + stagger)
            if round_.was_cut:
                return
            self._took[requests, words] = round_.seconds
            self.findings.rounds += 1
            self.findings.own_fault += round_.is_own_fault
            step, prefill = self._step_of(round_), round_.prefill()
            if prefill is not None:
                self.findings.prefills.append(prefill)
            if step is not None:
                self.findings.steps.append(step)
                self._missed.pop((requests, words), None)
                return
            self._miss(requests, words, round_)
            if words > self._shortest:
                return  # with shorter prompts there may be readings

    def _round(self, requests: int, words: int, tokens: int) -> ProbeRound:
        self._report(requests, words)
        dialect = self.findings.dialect
        streams = [
            Stream(
                self._address,
                dialect.endpoint,
                dialect.body(random_prompt(words, self._random), tokens),
            )
            for _ in range(requests)
        ]
        return run_round(streams, words, self._end, self._stop)

    def _step_of(self, round_: ProbeRound) -> StepReading | None:
        """Return the reading of a round, and remember what later rounds are sized by."""
        step, prefill = round_.step(), round_.prefill()
        if prefill is not None:
            self._first_token[round_.words] = prefill.milliseconds / 1000.0
        if step is not None:
            self.findings.counted_words = any(each.prompt_tokens is None for each in round_.answers)
            self.findings.tokens_per_arrival = median(
                each.tokens_per_arrival for each in round_.answers
            )
            if step.batch == 1:
                self._step = step.milliseconds / 1000.0
        return step

    def _miss(self, requests: int, words: int, round_: ProbeRound) -> None:
        """Count a round without a reading; after some, so many requests are too many."""
        missed = self._missed.get((requests, words), 0) + 1
        self._missed[requests, words] = missed
        if missed < TRIES or words > self._shortest:
            return
        if requests > 1:
            self.findings.too_many, self.findings.at_once = requests, round_.at_once
        elif not self.findings.steps:
            most = max((len(answer.arrivals) for answer in round_.answers), default=0)
            raise self._address.fault(
                f"answers end after {most} pieces of text, and a reading needs "
                f"{LEAST_STEPS + 1}; the server must take ignore_eos, or the model must write more"
            )

    def _after_failure(
        self, error: ServerError, requests: int, words: int, lengths: list[int], in_a_row: int
    ) -> list[int]:
        """Return the prompts to go on with: shorter ones if this one was refused."""
        self.findings.failures += 1
        if error.status in TOO_LONG and words > SHORTEST_PROMPT:
            self.findings.too_long = min(words, self.findings.too_long or words)
            return _lengths(max(words // 2, SHORTEST_PROMPT))
        if error.status in TOO_MANY and requests > 1:
            self.findings.too_many, self.findings.at_once = requests, requests // 2
            return lengths
        if in_a_row >= MOST_FAILURES or (requests == 1 and not self.findings.steps):
            raise error
        return lengths

    def _steps(self) -> int:
        """Return how many steps a reading is to be the mean of."""
        if self._step <= 0:
            return MOST_STEPS
        affordable = self._settings.seconds / READINGS / self._step
        return int(min(max(affordable, 2 * LEAST_STEPS), MOST_STEPS))

    def _stagger(self, requests: int, words: int) -> int:
        """Return the tokens that the first answer needs more, until the last one has begun."""
        if requests == 1 or self._step <= 0:
            return 0
        return ceil((requests - 1) * self._first_token.get(words, 0.0) / self._step)

    def _expected(self, requests: int, words: int) -> float:
        """Return the seconds that a round may take, from itself or a smaller one before it."""
        if (requests, words) in self._took:
            return self._took[requests, words]
        return 2.0 * self._took.get((requests // 2, words), 0.0)

    def _longest_round(self) -> float:
        return min(self._end - perf_counter(), self._settings.seconds / LONGEST_ROUND)


def _lengths(longest: int) -> list[int]:
    """Return the lengths of prompts: each a quarter of the next one."""
    lengths = (longest // TIMES_LONGER**power for power in range(3))
    return sorted({max(length, SHORTEST_PROMPT) for length in lengths})
