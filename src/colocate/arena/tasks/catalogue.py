"""All tasks by name."""

from collections.abc import Callable
from functools import partial

from colocate.arena.suites import SUITES
from colocate.arena.tasks.placement import CLASSIC, placement_task
from colocate.arena.tasks.task import Task
from colocate.errors import UnknownNameError

DEFAULT = "adrs"
"""The public benchmark."""
TASKS: dict[str, Callable[[], Task]] = {
    **{suite: partial(placement_task, suite) for suite in CLASSIC},
}
"""How to open each task that comes with the package."""


def open_task(name_or_folder: str = DEFAULT) -> Task:
    """Return a task of the catalogue, or the one in a folder."""
    if name_or_folder in SUITES and name_or_folder not in TASKS:
        return placement_task(name_or_folder)  # its contest says why it cannot be a task
    if name_or_folder not in TASKS:
        raise UnknownNameError.among("task", name_or_folder, TASKS)
    return TASKS[name_or_folder]()
