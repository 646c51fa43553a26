"""Judges many programs side by side, and finds the best."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import log2

from colocate.arena.asking import Halt
from colocate.arena.contest import Contest
from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.verdict import Verdict

QUICK = 1.0
"""Processor seconds for all public cases: below, times say more about the machine."""


@dataclass(frozen=True)
class Entry:
    """A program that takes part in a contest.

    Parameters
    ----------
    name
        The name of its folder.
    source
        Its text.
    verdict
        The verdict of the referee.
    """

    name: str
    source: str
    verdict: Verdict


def judge_all(
    programs: Sequence[tuple[str, str]],
    contest: Contest,
    referee: Referee,
    workers: int,
    on_program: Callable[[Entry], None] | None = None,
    repeats: Repeats | None = None,
) -> list[Entry]:
    """Judge named sources, `workers` at a time, and return them best first.

    The leading program runs again until it has had enough runs to be called best.

    Parameters
    ----------
    programs
        Names and sources, the earliest first: of equals, it leads.
    contest, referee
        The questions, and the referee that judges the answers.
    workers
        Programs judged at a time.
    on_program
        Called after every program, from any thread.
    repeats
        How often each program runs, and under which seeds; the worst run counts.
    """
    usual = repeats or referee.repeats()
    of_the_best = usual.of_the_best
    halt = Halt()

    def judged(program: tuple[str, str]) -> Entry:
        entry = Entry(*program, referee.judge_source(program[1], contest, usual, halt=halt))
        if on_program:
            on_program(entry)
        return entry

    pool = ThreadPoolExecutor(workers)
    try:
        entries = best_first(list(pool.map(judged, programs)))
    except BaseException:  # raised again
        halt.end()  # nobody waits for the others any more
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    while entries and not of_the_best.enough_for(entries[0].verdict):
        again = referee.judge_source(entries[0].source, contest, of_the_best)
        entries = best_first([replace(entries[0], verdict=again), *entries[1:]])
    return entries


def best_first(entries: Sequence[Entry]) -> list[Entry]:
    """Return programs in the order of a leaderboard."""
    return sorted(entries, key=_rank)


def _rank(entry: Entry) -> tuple[float, float, int]:
    """Order by fitness, then by the smaller lead on cases that a program can learn by heart.

    Of equals, one that is about twice as quick leads; then the earlier one does.
    """
    lead = entry.verdict.ratio - entry.verdict.fitness
    return -entry.verdict.fitness, max(lead, 0.0), _slowness(entry.verdict)


def _slowness(verdict: Verdict) -> int:
    """Return how often the time of a program can be halved before it counts as quick."""
    return max(0, round(log2(max(verdict.public.cpu_seconds, QUICK) / QUICK)))
