"""The frameworks, and what an evaluator is written for."""

from dataclasses import dataclass
from enum import StrEnum


class Framework(StrEnum):
    """Who calls the evaluator."""

    SHINKA = "shinka"
    OPENEVOLVE = "openevolve"
    SKYDISCOVER = "skydiscover"
    SKYDISCOVER_DOCKER = "skydiscover-docker"
    GEPA = "gepa"
    CODEEVOLVE = "codeevolve"
    HARBOR = "harbor"


IN_A_CONTAINER = (Framework.SKYDISCOVER_DOCKER, Framework.HARBOR)
"""The frameworks whose evaluators run in a container, which sees no folder of this machine."""


@dataclass(frozen=True)
class EvaluatorSettings:
    """What programs are judged on, and who writes them.

    Parameters
    ----------
    task
        The name of the task, or the path of its folder.
    entry_point
        The function that a program defines.
    facts
        What a model is told about the task.
    goal
        What a program is to reach, in a few words.
    start_program
        The source that the search starts from.
    seconds
        How long judging a program may take.
    limits
        The seconds and MB of a program for one case, if not those of the task.
    seeds
        How many a program is judged under if it uses chance.
    version
        Of colocate.
    model
        The model that writes programs, as the framework calls it.
    api_base
        The address of an OpenAI-compatible server; without one, that of the framework.
    hidden_seed
        Makes fresh hidden cases; by default they are those of the task.
    title
        The name of the task for a reader, if not `task`.
    target
        What its best values are called: ``optimum`` where they are proven.
    hidden
        Whether the task has hidden cases.
    """

    task: str
    entry_point: str
    facts: str
    goal: str
    start_program: str
    seconds: int
    version: str
    model: str
    api_base: str | None = None
    limits: tuple[float, int] | None = None
    seeds: int = 6
    hidden_seed: int | None = None
    title: str = ""
    target: str = "optimum"
    hidden: bool = True
