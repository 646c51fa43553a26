"""A plan as bars of memory, one a GPU, before it is decided how they are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isinf

from colocate.inputs.fleet import Fleet
from colocate.outputs.plan.latency_words import of_target
from colocate.outputs.plan.words import shown_pressure
from colocate.problem.gpu import Gpu
from colocate.problem.model import MEMORY
from colocate.problem.parts import Part, parts_by_gpu
from colocate.problem.verify import use_of
from colocate.solver.plan import Plan

MOST_BARS = 64
"""GPUs that are drawn: of more, the most pressed ones."""
MOST_PARTS = 40
"""Models that are drawn on one GPU: of more, the largest."""


@dataclass(frozen=True)
class BarPart:
    """What of a model is on a GPU."""

    name: str
    number: int
    """Of the model among those of the problem."""
    size_gb: float
    load: float
    """In its busiest window."""
    replica: str = ""
    """Which of its replicas, such as 1/2; empty if there is one."""
    shard: str = ""
    """Which part of the replica; empty if it is whole."""

    @property
    def which(self) -> str:
        """Name the part of the model; empty if it is the whole model."""
        told = (("replica", self.replica), ("shard", self.shard))
        return ", ".join(f"{what} {count}" for what, count in told if count)


@dataclass(frozen=True)
class Use:
    """How much of a further resource is used on a GPU."""

    resource: str
    amount: float
    limit: float


@dataclass(frozen=True)
class Bar:
    """The memory of a GPU, and its pressure."""

    gpu: Gpu
    memory_gb: float
    """All of it, with what models may not use."""
    parts: tuple[BarPart, ...]
    """The largest first."""
    uses: tuple[Use, ...]
    pressure: float
    of_peak: float = 0.0
    """What the plan minimises here, as a share of the highest that is not infinite."""
    worst: bool = False
    """Whether that is the highest."""
    ratio: float | None = None
    """The worst latency over its target, if the plan minimises that."""

    @property
    def value(self) -> float:
        """What the plan minimises: its ratio or its pressure."""
        return self.pressure if self.ratio is None else self.ratio

    @property
    def shown(self) -> str:
        """The same as it is written."""
        return shown_pressure(self.pressure) if self.ratio is None else of_target(self.ratio)

    @property
    def largest(self) -> tuple[BarPart, ...]:
        """Those that are drawn and named."""
        return self.parts[:MOST_PARTS]

    @property
    def others(self) -> tuple[BarPart, ...]:
        """Those that are only counted."""
        return self.parts[MOST_PARTS:]

    @property
    def used_gb(self) -> float:
        """What models hold."""
        return sum(part.size_gb for part in self.parts)

    @property
    def free_gb(self) -> float:
        """What is left for KV cache."""
        return max(self.gpu.memory_gb - self.used_gb, 0.0)

    @property
    def reserve_gb(self) -> float:
        """What models may not use."""
        return max(self.memory_gb - self.gpu.memory_gb, 0.0)


@dataclass(frozen=True)
class Bars:
    """The GPUs that are drawn, and a count of the others."""

    drawn: tuple[Bar, ...]
    """In the order of the problem."""
    left_out: tuple[Bar, ...]

    @property
    def largest_gb(self) -> float:
        """The memory of the largest that is drawn: all have one scale."""
        return max(bar.memory_gb for bar in self.drawn)

    @property
    def rest(self) -> str:
        """Return a note on the GPUs that are not drawn; empty if all are."""
        if not self.left_out:
            return ""
        highest = max(self.left_out, key=lambda bar: bar.value)
        most = "most pressed" if highest.ratio is None else "slowest"
        return (
            f"The {len(self.drawn)} {most} GPUs are shown. The other {len(self.left_out)} "
            f"are at {highest.shown} or less."
        )

    @property
    def by_latency(self) -> bool:
        """Whether the plan minimises latency."""
        return self.drawn[0].ratio is not None


def cut_in_middle(name: str, letters: int) -> str:
    """Return so many letters of a name, from both ends: names of GPUs often differ in the last."""
    if len(name) <= letters:
        return name
    return f"{name[: (letters + 1) // 2]}…{name[len(name) - letters // 2 :]}"


def fleet_bars(plan: Plan, fleet: Fleet, most: int = MOST_BARS) -> Bars:
    """Return the bars of a plan.

    Parameters
    ----------
    plan
        What is on which GPU.
    fleet
        What else is known about the GPUs.
    most
        GPUs that are drawn; of more, those with the highest pressure or ratio.
    """
    parts = parts_by_gpu(plan.problem, plan.placement)
    values = _values(plan)
    highest = max((value for value in values.values() if not isinf(value)), default=0.0)
    worst = max(values, key=values.__getitem__)
    bars = [
        replace(
            _bar(plan, fleet, gpu, parts[gpu.name]),
            of_peak=_share(values[gpu.name], highest),
            worst=gpu.name == worst and values[worst] > 0,
        )
        for gpu in plan.problem.gpus
    ]
    order = sorted(range(len(bars)), key=lambda place: (-bars[place].value, place))
    chosen = set(order[:most])
    return Bars(
        tuple(bar for place, bar in enumerate(bars) if place in chosen),
        tuple(bar for place, bar in enumerate(bars) if place not in chosen),
    )


def _values(plan: Plan) -> Mapping[str, float]:
    """Return what the plan minimises, by GPU."""
    by_latency = plan.problem.objective == "latency" and plan.ratios
    return plan.ratios if by_latency else plan.pressures


def _bar(plan: Plan, fleet: Fleet, gpu: Gpu, parts: list[Part]) -> Bar:
    device, values = fleet.devices.get(gpu.name), _values(plan)
    return Bar(
        gpu,
        max(device.memory_gb if device else 0.0, gpu.memory_gb),
        tuple(sorted(map(_bar_part, parts), key=lambda part: -part.size_gb)),
        tuple(
            Use(resource, sum(use_of(part.model, resource, gpu.kind) for part in parts), limit)
            for resource, limit in gpu.limits
            if resource != MEMORY
        ),
        plan.pressures[gpu.name],
        ratio=values[gpu.name] if values is plan.ratios else None,
    )


def _bar_part(part: Part) -> BarPart:
    return BarPart(
        part.model.name,
        part.number,
        part.model.size_gb,
        max(part.model.load),
        f"{part.replica + 1}/{part.replicas}" if part.replicas > 1 else "",
        f"{part.shard + 1}/{part.shards}" if part.shards > 1 else "",
    )


def _share(value: float, highest: float) -> float:
    if value <= 0:
        return 0.0
    return 1.0 if isinf(value) else value / highest
