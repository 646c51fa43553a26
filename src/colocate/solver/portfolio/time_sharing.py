"""Shares time between activities: the one furthest behind its share goes next."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import perf_counter, sleep

from colocate.solver.portfolio.activity import Activity
from colocate.solver.progress import ItemProgress

FIRST_STEPS = 4
"""Steps of the first activity before the others join in."""
PAUSE = 0.001
"""Seconds to wait while other threads do all the work there is."""


class _Table:
    """Which activities are running, and how long each has run."""

    def __init__(self, activities: Sequence[Activity]) -> None:
        self._spent = {activity: activity.handicap for activity in activities}
        self._busy: set[Activity] = set()
        self._lock = Lock()

    def take(self) -> Activity | None:
        """Return the next activity to run; None if all are busy or exhausted."""
        with self._lock:
            free = [a for a in self._spent if a not in self._busy and not a.exhausted]
            if not free:
                return None
            chosen = min(free, key=lambda activity: self._spent[activity] / activity.share)
            self._busy.add(chosen)
            return chosen

    def give_back(self, activity: Activity, seconds: float) -> None:
        """Make an activity available again."""
        with self._lock:
            self._spent[activity] += seconds
            self._busy.remove(activity)

    @property
    def empty(self) -> bool:
        """Whether there is nothing left to do."""
        with self._lock:
            return not self._busy and all(activity.exhausted for activity in self._spent)


def share_time(
    first: Activity, others: Callable[[], Sequence[Activity]], progress: ItemProgress, workers: int
) -> None:
    """Run activities until the search is finished.

    Parameters
    ----------
    first
        The activity that begins alone.
    others
        Makes the activities that join in, if they are needed.
    progress
        The state that they improve, and when they end.
    workers
        How many activities run in parallel.
    """
    _begin(first, progress)
    if not progress.finished:
        _go_on_together([first, *others()], progress, workers)


def _begin(activity: Activity, progress: ItemProgress) -> None:
    """Run the first activity alone for some steps, and for more while it finds improvements."""
    patience = FIRST_STEPS
    while patience > 0 and not (progress.finished or activity.exhausted):
        before = progress.value
        activity.step(progress)
        patience -= progress.value == before


def _go_on_together(activities: Sequence[Activity], progress: ItemProgress, workers: int) -> None:
    table = _Table(activities)
    with progress.deadline.watched(), ThreadPoolExecutor(max(workers - 1, 1)) as pool:
        others = [pool.submit(_work, table, progress) for _ in range(workers - 1)]
        _work(table, progress)
        for other in others:
            other.result()


def _work(table: _Table, progress: ItemProgress) -> None:
    """Run activities until the search is finished, and let the others know when it is."""
    try:
        _go_on_in_turn(table, progress)
    finally:
        progress.deadline.stop()


def _go_on_in_turn(table: _Table, progress: ItemProgress) -> None:
    while not progress.finished and not table.empty:
        activity = table.take()
        if activity is None:
            sleep(PAUSE)
        else:
            _go_on(activity, table, progress)


def _go_on(activity: Activity, table: _Table, progress: ItemProgress) -> None:
    started = perf_counter()
    try:
        activity.step(progress)
    finally:
        table.give_back(activity, perf_counter() - started)
