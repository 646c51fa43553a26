"""Carries steps out: each as soon as those before it are done, several side by side.

When a step fails, no other begins. Those that run end by themselves.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event

from colocate.replan.steps.step import EngineStep

Perform = Callable[[EngineStep], bool | None]
"""Performs one step, and says whether it succeeded; None if it never began. It may take minutes."""


def carry_out(
    steps: Sequence[EngineStep],
    perform: Perform,
    begun: Callable[[EngineStep], None],
    ended: Callable[[EngineStep, bool | None], None],
    at_once: int,
    stop: Event,
) -> bool:
    """Carry out steps, and return whether all of them succeeded.

    Parameters
    ----------
    steps
        What is left to do. Steps that they come after, and that are not among them, are done.
    perform
        Performs a step, in a thread of its own.
    begun, ended
        Called before and after every step, in this thread: they write down what is going on.
    at_once
        Steps that run side by side at the most.
    stop
        When it is set, no further step begins.
    """
    waiting = {step.number: step for step in steps}
    running: dict[Future[bool | None], EngineStep] = {}
    unfinished = set(waiting)
    failed = False
    with ThreadPoolExecutor(at_once) as pool:
        while True:
            while not (failed or stop.is_set()) and len(running) < at_once:
                step = next((each for each in waiting.values() if _may(each, unfinished)), None)
                if step is None:
                    break
                begun(waiting.pop(step.number))
                running[pool.submit(perform, step)] = step
            if not running:
                return not (failed or waiting)
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                step = running.pop(done)
                succeeded = done.result()
                failed = failed or not succeeded
                unfinished.discard(step.number)
                ended(step, succeeded)


def _may(step: EngineStep, unfinished: set[int]) -> bool:
    return unfinished.isdisjoint(step.after) and unfinished.isdisjoint(step.behind)
