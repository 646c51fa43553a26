"""What a user may choose about the files, beside the plan."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.outputs.emit.cluster import KubernetesSettings
from colocate.outputs.emit.gateway_settings import A_HOST, LAST_PORT, GatewaySettings, is_host
from colocate.problem.quantity import checked_name, checked_number

USUAL_VENV = ".venv"
LOAD_GB_PER_SECOND = 0.2
"""A download at 2 Gbit/s. Disks are faster, but a time that is too long only delays the news of an
engine that hangs, while one that is too short ends an engine that loads."""


class Target(StrEnum):
    """What the files are for."""

    VLLM = "vllm"
    SGLANG = "sglang"
    KVCACHED = "kvcached"
    COMPOSE = "compose"
    KUBERNETES = "kubernetes"
    RAY = "ray"
    SYSTEMD = "systemd"


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
    POD = "pod"
    """As containers of one pod, which has the resource claims of all its GPUs."""
    PLUGIN = "plugin"
    """By shared GPUs of NVIDIA's device plugin, on machines where it cannot choose wrongly."""


class Sharing(StrEnum):
    """How the engines on a GPU take turns to compute."""

    SLICES = "slices"
    """The driver gives each of them slices of time."""
    MPS = "mps"
    """They compute at the same time, under NVIDIA's Multi-Process Service."""


class TimeSlice(StrEnum):
    """How long the slices of time are."""

    DEFAULT = "default"
    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


class RunningEngine(NamedTuple):
    """An engine that runs already."""

    model: str
    gpus: tuple[str, ...]
    name: str
    port: int


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
        How pods share a GPU, on Kubernetes; None is by pod under MPS, and else by claims.
    base_port
        The port of the first engine, or of what stands before all engines.
    host
        The address that engines listen on.
    image
        The container image; None is the usual one of the engine.
    venv
        The virtual environment that engines are started from, by the controller of kvcached and
        by systemd, which needs an absolute path.
    sharing
        How the engines on a GPU take turns; None leaves it to the fleet file.
    time_slice
        How long a turn is, where they take turns by slices of time.
    load_gb_per_second
        How fast weights come to a GPU: what probes and time limits wait for.
    cluster
        What only Kubernetes needs to know.
    gateway
        What stands before the engines, and where it finds them.
    running
        Engines that run already: those of the plan keep their names and ports, and others get none
        of these.
    """

    memory: Memory = Memory.STATIC
    engine: Engine = Engine.VLLM
    share: Share | None = None
    base_port: int = 8000
    host: str = "0.0.0.0"
    image: str | None = None
    venv: str = USUAL_VENV
    sharing: Sharing | None = None
    time_slice: TimeSlice = TimeSlice.DEFAULT
    load_gb_per_second: float = LOAD_GB_PER_SECOND
    cluster: KubernetesSettings = field(default_factory=KubernetesSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    running: tuple[RunningEngine, ...] = ()

    def __post_init__(self) -> None:
        checked_number(self.load_gb_per_second, ("load_gb_per_second",), positive=True)
        if not 1 <= self.base_port <= LAST_PORT:
            raise InputError.of("base_port", self.base_port, f"from 1 to {LAST_PORT}")
        for name in ("host", "venv", "image"):
            text = getattr(self, name)
            if text is not None and checked_name(text, (name,)).startswith("-"):
                raise InputError.of(name, text, "a text that does not begin with a dash")
        if not is_host(self.host):
            raise InputError.of("host", self.host, A_HOST)
        if self.mps and self.time_slice is not TimeSlice.DEFAULT:
            advice = "leave out one of --sharing mps and --time-slice"
            raise InputError(Fault("means nothing under MPS", advice=advice, path=("time_slice",)))

    def settled(self, engine: Engine, stated: str | None) -> "EmitSettings":
        """Return it with all that is left open decided.

        Parameters
        ----------
        engine
            What serves the models.
        stated
            How the fleet file says that engines share a GPU, None if it does not.
        """
        sharing = self.sharing or Sharing(stated or Sharing.SLICES)
        usual = Share.POD if sharing is Sharing.MPS else Share.DRA
        return replace(self, engine=engine, sharing=sharing, share=self.share or usual)

    @property
    def mps(self) -> bool:
        """Whether the engines on a GPU compute at the same time."""
        return self.sharing is Sharing.MPS

    @property
    def elastic(self) -> bool:
        """Whether kvcached moves memory between the engines."""
        return self.memory is Memory.KVCACHED
