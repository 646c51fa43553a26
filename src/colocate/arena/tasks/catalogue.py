"""All tasks by name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from colocate.arena.suites import SUITES
from colocate.arena.tasks.fleets.fleet import FLEETS, fleet_task
from colocate.arena.tasks.folder import DESCRIPTION, folder_task
from colocate.arena.tasks.placement import CLASSIC, placement_task
from colocate.arena.tasks.task import Task
from colocate.errors import UnknownNameError

DEFAULT = "adrs"
"""The public benchmark."""
TASKS: dict[str, Callable[[], Task]] = {
    **{suite: partial(placement_task, suite) for suite in CLASSIC},
    **{fleet: partial(fleet_task, fleet) for fleet in FLEETS},
}
"""How to open each task that comes with the package."""


def tasks_by_entry_point() -> dict[str, list[str]]:
    """Return the names of the tasks that come with the package, by the function of programs."""
    found: dict[str, list[str]] = {}
    for name, opened in TASKS.items():
        found.setdefault(opened().entry_point, []).append(name)
    return found


def open_task(name_or_folder: str = DEFAULT) -> Task:
    """Return a task of the catalogue, or the one in a folder."""
    if Path(name_or_folder).is_dir() and name_or_folder not in TASKS:
        return folder_task(Path(name_or_folder))
    if name_or_folder in SUITES and name_or_folder not in TASKS:
        return placement_task(name_or_folder)  # its contest says why it cannot be a task
    if name_or_folder not in TASKS:
        folder = f"a folder with {DESCRIPTION}"
        raise UnknownNameError.among("task", name_or_folder, TASKS, other=folder)
    return TASKS[name_or_folder]()
