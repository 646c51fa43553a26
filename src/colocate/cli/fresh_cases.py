"""Says on stderr that the solver works on fresh hidden cases, and how far it is."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def saying_what_is_solved() -> Iterator[None]:
    """Say how many cases must be solved, and on a screen how many have been."""
    from colocate.arena.tasks.solved_cases import listening
    from colocate.outputs.text.console import notes

    console = notes()

    def say(done: int, count: int) -> None:
        if done == 0:
            first = f"solving {count} fresh hidden cases first, to know what can be reached"
            console.print(first, markup=False)
        elif console.is_terminal:
            console.print(f"solved {done} of {count}", markup=False, end="\r")

    with listening(say):
        yield
