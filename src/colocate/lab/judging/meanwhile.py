"""Judges programs while others are still being asked for."""

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

from colocate.arena.contest import Contest
from colocate.arena.repeats import Repeats
from colocate.arena.verdict import Verdict
from colocate.lab.judging.evaluation import Evaluation

Outcome = TypeVar("Outcome")


class JudgingMeanwhile(Generic[Outcome]):
    """Judges programs from the moment that each of them is known.

    Parameters
    ----------
    evaluation
        Where they are judged.
    contest, repeats
        The questions that each gets, and how often.
    after
        Programs to judge first; so no more are judged at a time than the evaluation allows.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        contest: Contest,
        repeats: Repeats,
        after: "JudgingMeanwhile[Outcome] | None" = None,
    ) -> None:
        self._evaluation = evaluation
        self._asked = (contest, repeats)
        self._after = after
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._sources: list[str] = []
        self._verdicts: dict[str, Verdict] = {}
        self._fault: BaseException | None = None
        self._thread: Thread | None = None
        self._then: Callable[[dict[str, Verdict]], Outcome] | None = None
        self._outcome: list[Outcome] = []

    def add(self, source: str) -> None:
        """Judge a program, too."""
        self._sources.append(source)
        self._waiting.put(source)
        self._start()

    def close(self, sources: Sequence[str], then: Callable[[dict[str, Verdict]], Outcome]) -> None:
        """State which programs count, and what is to be done when they are judged.

        Parameters
        ----------
        sources
            The programs; those that nobody has added are judged, too.
        then
            Makes the outcome of the verdicts, in the thread that judges.
        """
        for source in sources:
            if source not in self._sources:
                self.add(source)
        self._then = then
        self._waiting.put(None)
        self._start()

    def outcome(self) -> Outcome:
        """Wait until all is done, and return what was made of the verdicts."""
        if self._thread:
            self._thread.join()
        if self._fault:
            raise self._fault
        return self._outcome[0]

    def _start(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._judge, daemon=True)
            self._thread.start()

    def _judge(self) -> None:
        try:
            if self._after:
                self._after.outcome()
            first = self._waiting.get()
            if first is not None:
                sources = _until_none(first, self._waiting)
                for place, verdict in self._evaluation.judge(sources, *self._asked):
                    self._verdicts[self._sources[place]] = verdict
            assert self._then is not None, "it is said before the end is"
            self._outcome.append(self._then(self._verdicts))
        except BaseException as error:  # a border: it is raised where somebody waits
            self._fault = error
        self._after = self._then = None  # nobody needs what came before any more


def _until_none(first: str, waiting: "SimpleQueue[str | None]") -> Iterator[str]:
    yield first
    while (source := waiting.get()) is not None:
        yield source
