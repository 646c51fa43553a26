"""The settings of a new lab; they, the seed and the answers determine a run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from colocate.arena.tasks.catalogue import DEFAULT
from colocate.errors import InputError
from colocate.lab.messages import Attempt
from colocate.lab.spending import Spending
from colocate.problem.quantity import checked_seed


@dataclass(frozen=True)
class Settings:
    """How a lab searches.

    Parameters
    ----------
    task
        What programs are judged on: the name of a task, or the folder of one.
    seed
        Decides every random choice.
    islands
        Populations that mix only by migration.
    proposals
        Requests in a generation; each has the number of the program that it may become.
    migration
        Generations after which the best of an island also lives on the next one.
    attempts
        Answers to one request; later attempts show the refusal.
    inspirations
        Programs shown beside the parent.
    review
        Programs after which the lab writes a review.
    seconds, memory_mb, allow
        The resources of a program for a case; see `Sandbox`.
    hidden_seed
        Makes fresh hidden cases; by default they are those of the task.
    ahead
        1 if a generation is asked for while the one before it is judged. Its parents are then two
        generations older; with 0, they are one generation older, and nobody asks meanwhile.
    """

    task: str = DEFAULT
    seed: int = 0
    islands: int = 2
    proposals: int = 4
    migration: int = 5
    attempts: int = 3
    inspirations: int = 2
    review: int = 20
    seconds: float = 10.0
    memory_mb: int = 2048
    allow: tuple[str, ...] = ()
    hidden_seed: int | None = None
    ahead: int = 0

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        if self.ahead not in (0, 1):
            raise InputError.of("ahead", self.ahead, "0 or 1")
        for name in ("islands", "proposals", "migration", "attempts", "review"):
            if getattr(self, name) < 1:
                raise InputError.of(name, getattr(self, name), "at least 1")
        if self.islands > self.proposals:
            most = f"at most proposals={self.proposals}"
            why = "every island needs a proposal in each generation"
            raise InputError.of("islands", self.islands, f"{most}: {why}")


@dataclass(frozen=True)
class Budget:
    """When to stop, even if more could be gained; None means no limit.

    Parameters
    ----------
    generations, proposals
        Limits for the whole life of the lab; only answers with a text count.
    tokens, cost
        Limits for the whole life of the lab; everything that was paid for counts.
    seconds
        Limit for this run.
    """

    generations: int | None = None
    proposals: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def left(self, spent: Spending) -> tuple[float | None, float | None]:
        """Return how many tokens and how much money are left; None means no limit."""
        return (
            None if self.tokens is None else self.tokens - spent.tokens,
            None if self.cost is None else self.cost - spent.cost,
        )

    def spent(
        self, generations: int, attempts: Sequence[Attempt], spent: Spending, seconds: float
    ) -> str:
        """Return which limit is reached, if any.

        Parameters
        ----------
        generations
            Generations that are complete.
        attempts
            All attempts of the archive.
        spent
            All that the lab has spent.
        seconds
            Seconds since the run began.
        """
        answers = sum(attempt.answer.came for attempt in attempts)
        used = (generations, answers, spent.tokens, spent.cost, seconds)
        for (name, most), amount in zip(asdict(self).items(), used, strict=True):
            if most is not None and amount >= most:
                return f"the budget of {most:,.12g} {name} is spent"
        return ""
