"""The answer: where every model goes, and how good that is."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from importlib import import_module
from math import fsum, inf, isinf
from typing import Any, NamedTuple

from colocate.errors import InputError
from colocate.latency.prediction import predict_placement, ratios_of
from colocate.problem.certificate import Certificate
from colocate.problem.level import Level
from colocate.problem.model import Model
from colocate.problem.parts import parts_by_gpu
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import COST_ROUNDING, PROVEN
from colocate.problem.verify import verify
from colocate.solver.plan_rows import LATENCY_FIELDS, PlanRow, html_of, plan_rows
from colocate.version import __version__

SCHEMA = 1
"""The version of the JSON form."""


class Improvement(NamedTuple):
    """A better placement or bound, recorded when it was found."""

    seconds: float
    value: float
    """The peak pressure or worst ratio then; infinite if there was no placement yet."""
    bound: float
    block: str
    """The block that found it."""


class Alarm(NamedTuple):
    """A false bound, which was not used.

    Either a placement is below it, or the checker has refused its proof.
    """

    proof: str
    """The kind of proof, or the solver that claimed it."""
    bound: float
    value: float
    """The value of the best placement then."""


def gap_between(value: float, bound: float) -> float:
    """Return `value / bound - 1`, or 0 if the value is not above the bound."""
    if value <= bound:
        return 0.0
    return value / bound - 1.0 if bound > 0.0 and value < inf else inf


class Status(StrEnum):
    """What is known about an answer."""

    OPTIMAL = "OPTIMAL"
    """There is a placement, and a proof that none is better."""
    FEASIBLE = "FEASIBLE"
    """There is a placement."""
    INFEASIBLE = "INFEASIBLE"
    """There is a proof that no placement exists."""
    UNKNOWN = "UNKNOWN"
    """The search found neither a placement nor a proof that none exists."""


@dataclass(frozen=True)
class Plan:
    """The answer of the solver or of a strategy.

    Parameters
    ----------
    problem
        The problem that it answers.
    status
        What is known about the answer.
    placement
        GPU names by model name; empty if there is no placement.
    pressures
        Pressure by GPU name; empty if there is no placement.
    reason
        Why there is no placement, or how the placement was found if not as requested.
    certificate
        The proof of the bound; None if nothing was proven.
    history
        Every better placement or bound, in the order found.
    lost_bound
        A lower bound on what any choice of sleepers loses.
    alarms
        False claims of other solvers, which were not used.
    interrupted
        Whether someone interrupted the search.
    levels
        All pressures, the highest first, each with its own bound; empty if only the peak was asked
        for.
    ratios
        The worst latency over its target, by GPU name; empty if there is no placement, or nobody
        said what the models are asked.
    strategy, seed, seconds, version
        How it was found.
    """

    problem: Problem = field(repr=False)
    status: Status
    placement: Placement = field(default_factory=Placement)
    pressures: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    certificate: Certificate | None = None
    history: tuple[Improvement, ...] = ()
    lost_bound: float = 0.0
    alarms: tuple[Alarm, ...] = ()
    interrupted: bool = False
    levels: tuple[Level, ...] = ()
    ratios: Mapping[str, float] = field(default_factory=dict)
    strategy: str = ""
    seed: int = 0
    seconds: float = 0.0
    version: str = __version__

    @property
    def pressure(self) -> float:
        """The highest pressure; infinite if there is no placement."""
        return max(self.pressures.values(), default=inf)

    @property
    def ratio(self) -> float:
        """The worst latency over its target; infinite if a queue grows, or nothing is known."""
        return max(self.ratios.values(), default=inf)

    @property
    def value(self) -> float:
        """What the placement minimises: its ratio or its pressure, by the objective."""
        return self.ratio if self.problem.objective == "latency" else self.pressure

    @property
    def bound(self) -> float:
        """No placement has a lower value; 0 if nothing was proven."""
        return self.certificate.bound if self.certificate else 0.0

    @property
    def gap(self) -> float:
        """The distance from the bound to the value, as a share of the bound."""
        return gap_between(self.value, self.bound) if self.placement else inf

    @property
    def asleep(self) -> tuple[str, ...]:
        """The names of the models that are left asleep."""
        return tuple(model for model, gpus in self.placement.items() if not gpus)

    @property
    def lost(self) -> float:
        """The sum of the sleep costs of the models left asleep."""
        asleep = set(self.asleep)
        return fsum(m.sleep_cost or 0.0 for m in self.problem.sleepers if m.name in asleep)

    @property
    def loses_least(self) -> bool:
        """Whether a proof shows that no choice of sleepers loses less, up to rounding."""
        return self.lost - self.lost_bound <= COST_ROUNDING * self.lost

    @property
    def proven(self) -> bool:
        """Whether no plan loses less, and none with the same sleepers has a lower value."""
        return bool(self.placement) and self.gap <= PROVEN and self.loses_least

    @property
    def levels_proven(self) -> int:
        """How many levels from the top are proven to be the lowest possible, up to rounding."""
        open_ones = (
            number
            for number, level in enumerate(self.levels)
            if gap_between(level.pressure, level.bound) > PROVEN
        )
        return next(open_ones, len(self.levels))

    @property
    def bottleneck(self) -> str | None:
        """The name of the first GPU with the highest pressure."""
        return max(self.pressures, key=self.pressures.__getitem__, default=None)

    def models_by_gpu(self) -> dict[str, list[Model]]:
        """Return the models on every GPU, by GPU name, in the order of the problem."""
        by_gpu = parts_by_gpu(self.problem, self.placement)
        return {gpu: [part.model for part in parts] for gpu, parts in by_gpu.items()}

    @property
    def digest(self) -> str:
        """A hash of the plan and its problem, which shows whether either was altered."""
        proof = self.certificate.fingerprint if self.certificate else None
        levels = [level.fingerprint for level in self.levels]
        stated = {**self._stated(levels), "certificate": proof}
        text = json.dumps([self.problem.digest, stated], sort_keys=True)
        return sha256(text.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain data for JSON; infinite numbers become the text Infinity."""
        proof = self.certificate.as_dict() if self.certificate else None
        levels = [level.as_dict() for level in self.levels]
        return {**self._stated(levels), "certificate": proof, "digest": self.digest}

    def _stated(self, levels: list[dict[str, Any]]) -> dict[str, Any]:
        """Return all fields, with None for the certificate, which the callers fill in."""
        alarms = [{**alarm._asdict(), "bound": _number(alarm.bound)} for alarm in self.alarms]
        return {
            "schema": SCHEMA,
            "status": self.status.value,
            "pressure": _number(self.pressure) if self.placement else None,
            "bound": _number(self.bound),
            "gap": _number(self.gap) if self.placement else None,
            "pressures": {gpu: _number(value) for gpu, value in self.pressures.items()},
            **(self._latency() if self.problem.has_requests else {}),
            "placement": {model: list(gpus) for model, gpus in self.placement.items()},
            "certificate": None,
            **({"levels_proven": self.levels_proven, "levels": levels} if levels else {}),
            "asleep": list(self.asleep),
            "lost": self.lost,
            "lost_bound": self.lost_bound,
            **({"alarms": alarms} if alarms else {}),
            **({"interrupted": True} if self.interrupted else {}),
            "history": [
                {name: _number(v) if name != "block" else v for name, v in step._asdict().items()}
                for step in self.history
            ],
            "reason": self.reason,
            "strategy": self.strategy,
            "seed": self.seed,
            "seconds": self.seconds,
            "version": self.version,
        }

    def _latency(self) -> dict[str, Any]:
        """Return the fields of plans whose latencies are predicted."""
        return {
            "objective": self.problem.objective,
            "ratio": _number(self.ratio) if self.placement else None,
            "ratios": {gpu: _number(value) for gpu, value in self.ratios.items()},
        }

    @classmethod
    def from_dict(cls, problem: Problem, data: Mapping[str, Any]) -> "Plan":
        """Read a plan from plain data, without checking its claims: see `colocate check`."""
        if not isinstance(data, Mapping):
            raise InputError.of((), data, "a plan")
        if data.get("schema") != SCHEMA:
            raise InputError.of("schema", data.get("schema"), str(SCHEMA))
        try:
            certificate = data["certificate"]
            return cls(
                problem,
                Status(data["status"]),
                Placement({str(m): [str(g) for g in on] for m, on in data["placement"].items()}),
                {str(gpu): _float(value) for gpu, value in data["pressures"].items()},
                reason=str(data["reason"]),
                certificate=Certificate.from_dict(certificate) if certificate is not None else None,
                history=tuple([_improvement(step) for step in data["history"]]),
                lost_bound=float(data["lost_bound"]),
                alarms=tuple([_alarm(alarm) for alarm in data.get("alarms", ())]),
                interrupted=bool(data.get("interrupted", False)),
                levels=tuple([Level.from_dict(level) for level in data.get("levels", ())]),
                ratios={str(gpu): _float(r) for gpu, r in data.get("ratios", {}).items()},
                strategy=str(data["strategy"]),
                seed=int(data["seed"]),
                seconds=float(data["seconds"]),
                version=str(data["version"]),
            )
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"cannot be read as a plan, {error!r}") from None

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with a row for every shard of every replica.

        Raises
        ------
        ImportError
            If pandas is not installed; the extra `pandas` brings it.
        """
        pandas = import_module("pandas")  # not needed otherwise, and slow
        frame = pandas.DataFrame(self._rows(), columns=PlanRow._fields)
        return frame if self.problem.has_requests else frame.drop(columns=list(LATENCY_FIELDS))

    def _repr_html_(self) -> str:
        """Return the plan as a notebook shows it."""
        return html_of(self.summary, self._rows())

    def _rows(self) -> Iterator[PlanRow]:
        return plan_rows(self.problem, self.placement, self.pressures)

    def __str__(self) -> str:
        values = self.ratios if self.problem.objective == "latency" else self.pressures
        lines = [
            f"{gpu}  {values[gpu]:.6g}  {', '.join(model.name for model in models)}"
            for gpu, models in self.models_by_gpu().items()
            if self.placement
        ]
        return "\n".join([*lines, self.summary])

    @property
    def summary(self) -> str:
        """The answer in one line."""
        if not self.placement:
            return f"{self.status}: {self.reason}"
        summary = f"{self.status}: {self._told_value}"
        if self.certificate:
            summary += f", at least {self.bound:.6g} for any placement, gap {self.gap:.2%}"
        if self.asleep:
            summary += f"; asleep: {', '.join(self.asleep)}"
        return summary

    @property
    def _told_value(self) -> str:
        if self.problem.objective == "pressure":
            return f"peak pressure {self.pressure:.6g}"
        if isinf(self.ratio):
            return "the queue of some model grows without end"
        return f"worst latency {self.ratio:.6g} times its target"


def with_ratios(plan: Plan) -> Plan:
    """Return a plan with the ratios of its placement, if they can be predicted.

    A plan that the checker has confirmed has them already.
    """
    if plan.ratios or not plan.problem.has_requests or not plan.placement:
        return plan
    predicted = predict_placement(plan.problem, plan.placement)
    ratios = ratios_of(predicted, dict.fromkeys(gpu.name for gpu in plan.problem.gpus))
    return replace(plan, ratios=ratios)


def confirmed_plan(problem: Problem, placement: Placement, reason: str = "") -> Plan:
    """Return the plan of a placement after the independent checker has confirmed it.

    Parameters
    ----------
    problem, placement
        The problem, and where its models are.
    reason
        A remark on how the placement was found, if there is one.
    """
    verdict = verify(problem, placement)
    if not verdict.valid:
        raise AssertionError(f"a placement breaks a rule: {'; '.join(verdict.faults)}")
    found = Plan(problem, Status.FEASIBLE, placement, verdict.pressures, reason)
    return replace(found, ratios=verdict.ratios)


def _improvement(step: Mapping[str, Any]) -> Improvement:
    return Improvement(
        float(step["seconds"]), _float(step["value"]), _float(step["bound"]), str(step["block"])
    )


def _alarm(alarm: Mapping[str, Any]) -> Alarm:
    return Alarm(str(alarm["proof"]), _float(alarm["bound"]), float(alarm["value"]))


def _number(value: float) -> float | str:
    return "Infinity" if isinf(value) else value


def _float(value: object) -> float:
    if isinstance(value, str) and value != "Infinity":
        raise ValueError(f"{value!r} is no number")
    return float(value)  # type: ignore[arg-type]
