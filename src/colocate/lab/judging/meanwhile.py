"""Judges programs while others are still being asked for."""

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Thread

from colocate.arena.contest import Contest
from colocate.arena.repeats import Repeats
from colocate.arena.verdict import Verdict
from colocate.lab.judging.evaluation import Evaluation


class JudgingMeanwhile:
    """Judges programs from the moment that each of them is known.

    Parameters
    ----------
    evaluation
        Where they are judged.
    contest, repeats
        The questions that each gets, and how often.
    """

    def __init__(self, evaluation: Evaluation, contest: Contest, repeats: Repeats) -> None:
        self._evaluation = evaluation
        self._asked = (contest, repeats)
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._sources: list[str] = []
        self._verdicts: dict[str, Verdict] = {}
        self._fault: BaseException | None = None
        self._thread: Thread | None = None

    def add(self, source: str) -> None:
        """Judge a program, too."""
        if self._thread is None:
            self._thread = Thread(target=self._judge, daemon=True)
            self._thread.start()
        self._sources.append(source)
        self._waiting.put(source)

    def verdicts(self, sources: Sequence[str]) -> Iterator[tuple[str, Verdict]]:
        """Wait for the verdicts on some of the programs, and yield them with their sources.

        Those that nobody has added are judged now.
        """
        for source in sources:
            if source not in self._sources:
                self.add(source)
        if self._thread:
            self._waiting.put(None)
            self._thread.join()
        if self._fault:
            raise self._fault
        yield from ((source, self._verdicts[source]) for source in sources)

    def _judge(self) -> None:
        try:
            for place, verdict in self._evaluation.judge(_until_none(self._waiting), *self._asked):
                self._verdicts[self._sources[place]] = verdict
        except BaseException as error:  # a border: it is raised where somebody waits
            self._fault = error


def _until_none(waiting: "SimpleQueue[str | None]") -> Iterator[str]:
    while (source := waiting.get()) is not None:
        yield source
