"""Where programs are judged: in processes of this machine."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from colocate.arena.asking import Halt
from colocate.arena.contest import Contest
from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.verdict import Verdict


class Evaluation(Protocol):
    """A place where programs are judged."""

    def judge(
        self, sources: Iterable[str], contest: Contest, repeats: Repeats
    ) -> Iterator[tuple[int, Verdict]]:
        """Yield the index of every source and its verdict, as they arrive.

        Parameters
        ----------
        sources
            The programs; each is judged as soon as it comes.
        contest
            The questions that each gets.
        repeats
            How often each program runs, and under which seeds; the worst run counts.
        """


@dataclass(frozen=True)
class LocalEvaluation:
    """Sandboxes on this machine, a fixed number at a time."""

    referee: Referee
    workers: int = 1

    def judge(
        self, sources: Iterable[str], contest: Contest, repeats: Repeats
    ) -> Iterator[tuple[int, Verdict]]:
        """Yield the place of every source and the verdict on it, as they come."""
        halt = Halt()
        judged = partial(self.referee.judge_source, contest=contest, repeats=repeats, halt=halt)
        pool = ThreadPoolExecutor(self.workers)
        try:
            places = {pool.submit(judged, source): place for place, source in enumerate(sources)}
            for future in as_completed(places):
                yield places[future], future.result()
        except BaseException:  # raised again
            halt.end()  # nobody waits for the others any more
            raise
        finally:
            pool.shutdown(cancel_futures=True)
