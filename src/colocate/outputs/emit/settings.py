"""What a user may choose about the files, beside the plan."""

from dataclasses import dataclass
from enum import StrEnum

from colocate.errors import InputError
from colocate.problem.quantity import checked_name

LAST_PORT = 65_535
"""Ports have 16 bits."""


class Target(StrEnum):
    """What the files are for."""

    VLLM = "vllm"
    SGLANG = "sglang"
    KVCACHED = "kvcached"
    COMPOSE = "compose"
    KUBERNETES = "kubernetes"
    RAY = "ray"


class Engine(StrEnum):
    """What serves a model."""

    VLLM = "vllm"
    SGLANG = "sglang"


OWN_ENGINES = {
    Target.VLLM: Engine.VLLM,
    Target.SGLANG: Engine.SGLANG,
    Target.RAY: Engine.VLLM,
}
"""The engine of the targets that start one kind only; the others leave a choice."""


class Memory(StrEnum):
    """How the engines on a GPU share its memory."""

    STATIC = "static"
    """Each has its part from the start."""
    KVCACHED = "kvcached"
    """Each takes and returns memory for keys and values as it needs."""


class Share(StrEnum):
    """How pods of Kubernetes share a GPU."""

    DRA = "dra"
    """By one resource claim for each GPU, which all of its pods name."""
    ENV = "env"
    """By an environment variable for the container runtime; the scheduler does not see it."""


@dataclass(frozen=True)
class EmitSettings:
    """Choices of the user, checked.

    Parameters
    ----------
    memory
        How the engines on a GPU share its memory.
    engine
        What serves the models, where the target leaves a choice.
    share
        How pods share a GPU, on Kubernetes.
    base_port
        The port of the first engine, or of what stands before all engines.
    host
        The address that engines listen on.
    image
        The container image; None is the usual one of the engine.
    venv
        The virtual environment that engines are started from, by the controller of kvcached.
    """

    memory: Memory = Memory.STATIC
    engine: Engine = Engine.VLLM
    share: Share = Share.DRA
    base_port: int = 8000
    host: str = "0.0.0.0"
    image: str | None = None
    venv: str = ".venv"

    def __post_init__(self) -> None:
        if not 1 <= self.base_port <= LAST_PORT:
            raise InputError.of("base_port", self.base_port, f"from 1 to {LAST_PORT}")
        for field in ("host", "venv", "image"):
            text = getattr(self, field)
            if text is not None and checked_name(text, (field,)).startswith("-"):
                raise InputError.of(field, text, "a text that does not begin with a dash")

    @property
    def elastic(self) -> bool:
        """Whether kvcached moves memory between the engines."""
        return self.memory is Memory.KVCACHED
