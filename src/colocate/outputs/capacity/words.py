"""The words for a capacity: the same in table, picture and JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isinf

from colocate.advise.capacity.fleet_sizes import GpuKind
from colocate.advise.capacity.mixes import Mix
from colocate.advise.capacity.objective import By
from colocate.advise.capacity.search import Capacity
from colocate.advise.capacity.trials import Decision, MixTrial
from colocate.outputs.explain.targets import missed_alone
from colocate.outputs.latency.words import shown_ratio
from colocate.outputs.plan.words import shown_pressure
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import amount, listed, quoted
from colocate.solver.plan import Status
from colocate.solver.proof_words import PROOFS


@dataclass(frozen=True)
class CapacityReport:
    """An answer with what is needed to read it.

    Parameters
    ----------
    answer
        What was found.
    kinds
        The kinds of GPU, in the order of the mixes.
    prices
        Of an hour of one GPU of each kind; None where it is not known.
    by
        What was to be as low as possible, `gpus` or `price`.
    asked
        Where the pressure comes from, as the end of a sentence; empty if it was given.
    floor
        The number of GPUs, or the price, that sums alone show to be the least.
    targets
        How many models must keep a latency target.
    """

    answer: Capacity
    kinds: tuple[GpuKind, ...]
    prices: tuple[Fraction | None, ...]
    by: By
    asked: str = ""
    floor: Fraction = Fraction()
    targets: int = 0

    @property
    def by_ratio(self) -> bool:
        """Whether latency targets alone decide, so that values are ratios and not pressures."""
        return isinf(self.answer.target)

    def gpus(self, mix: Mix) -> tuple[int, ...]:
        """Return how many GPUs of each kind a mix has."""
        return tuple(n * kind.at_once for n, kind in zip(mix, self.kinds, strict=True))

    def total(self, mix: Mix) -> int:
        """Return how many GPUs a mix has."""
        return sum(self.gpus(mix))

    def price(self, mix: Mix) -> float | None:
        """Return what an hour of a mix costs, None if a price is not known."""
        paid = zip(self.gpus(mix), self.prices, strict=True)
        amounts = [None if price is None else count * price for count, price in paid if count]
        known = [amount for amount in amounts if amount is not None]
        return float(sum(known)) if len(known) == len(amounts) else None

    def is_best(self, trial: MixTrial) -> bool:
        """Return whether a trial is of the answer."""
        return self.answer.best is not None and trial.mix == self.answer.best.mix

    def named(self, mix: Mix) -> str:
        """Describe a mix."""
        return named(self.kinds, mix)

    def priced(self, mix: Mix) -> str:
        """Return the price of a mix per hour, in words; empty if it is not known."""
        price = self.price(mix)
        return "" if price is None else f"${price:,.2f} per hour"


def named(kinds: Sequence[GpuKind], mix: Mix) -> str:
    """Describe a mix of some kinds."""
    counts = ((n * kind.at_once, kind.label) for n, kind in zip(mix, kinds, strict=True) if n)
    return " + ".join(f"{n} x {one_line(label, LONGEST_NAME)}" for n, label in counts) or "nothing"


def question(report: CapacityReport) -> str:
    """Describe the question."""
    what = "the fewest GPUs" if report.by is By.GPUS else "the cheapest mix of GPUs"
    targets = f"the latency targets of {amount(report.targets, 'model')}"
    if report.by_ratio:
        return f"{what} that {'keep' if report.by is By.GPUS else 'keeps'} {targets}"
    pressure = f"{what} for a pressure of {report.answer.target:.6g} or less{report.asked}"
    return f"{pressure}, keeping {targets}" if report.targets else pressure


def headline(report: CapacityReport) -> str:
    """Describe the answer."""
    best = report.answer.best
    if best is None:
        return reason(report.answer)
    total = report.total(best.mix)
    price = report.priced(best.mix)
    return f"{amount(total, 'GPU')}: {report.named(best.mix)}" + (f", {price}" if price else "")


def reason(answer: Capacity) -> str:
    """Return why there is no answer, and what to do where a model is too slow even alone."""
    found = answer.too_slow
    if found is None:
        return answer.reason
    here, model = "on every kind of GPU here, even alone", quoted(found.target.model)
    replicas = f"{found.enough} replicas (replicas: {found.enough}, or auto), "
    more = replicas if found.enough is not None else ""
    if isinf(found.target.alone):
        why = f"the queue of {model} grows without end {here}"
        remedy = f"give it {more}a lower rate, or a faster or larger kind of GPU"
    else:
        why = f"{model} misses a target {here}: {missed_alone(found.target)}"
        remedy = f"give it {more}more time, fewer bits (dtype), or a faster kind of GPU"
    return f"no number of GPUs is enough: {why}; {remedy}"


def proof(report: CapacityReport) -> str:
    """Return whether the answer is proven, and what is not."""
    answer = report.answer
    what = "the fewest" if report.by is By.GPUS else "the cheapest"
    less = "fewer GPUs" if report.by is By.GPUS else "a cheaper mix"
    if answer.status is Status.OPTIMAL:
        goal = "keep the targets" if report.by_ratio else "reach the pressure"
        return f"proven {what}: {less} cannot {goal}"
    left = [report.named(mix) for mix in answer.not_excluded]
    open_mixes = f"still open: {listed(left, 3)}" if left else f"{less} may do"
    return f"not proven {what}: the time was too short; {open_mixes}; {_least(report)}"


def _least(report: CapacityReport) -> str:
    """Describe the least that is needed, by sums alone."""
    if report.by is By.GPUS:
        return f"at least {amount(ceil(report.floor), 'GPU')} needed"
    return f"at least ${floor(report.floor * 100) / 100:,.2f} per hour needed"


def shown_value(report: CapacityReport, value: float) -> str:
    """Return a pressure or ratio, whichever decides, as it is written."""
    return shown_ratio(value) if report.by_ratio else shown_pressure(value)


def verdict(trial: MixTrial) -> str:
    """Describe what is known about a mix."""
    if trial.decision is Decision.REACHED:
        by_ratio = trial.plan is not None and trial.plan.problem.objective == "latency"
        return "keeps them" if by_ratio else "reaches it"
    if trial.decision is Decision.OPEN:
        return "not known"
    if trial.reason:
        return f"cannot: {one_line(trial.reason)}"
    certificate = trial.plan and trial.plan.certificate
    return f"cannot, proven by {PROOFS[certificate.proof]}" if certificate else "cannot"
