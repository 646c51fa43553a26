"""What answers cost, and a purse that several askers spend from at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Condition
from typing import Any, Self

from colocate.errors import ColocateError


class BudgetSpent(ColocateError):  # noqa: N818, the end of a budget is no fault
    """No request may be sent any more."""


@dataclass(frozen=True)
class Spending:
    """Tokens and money.

    Parameters
    ----------
    tokens_in, tokens_out
        Tokens of questions and of answers.
    cost
        Money, in the currency of the prices given.
    estimated
        Whether some of it is an estimate, because the server did not say.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of questions and answers together."""
        return self.tokens_in + self.tokens_out

    def __bool__(self) -> bool:
        return bool(self.tokens or self.cost)

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )

    def __str__(self) -> str:
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        money = f", cost {self.cost:,.4f}" if self.cost else ""
        return f"{tokens}{money}{', in part estimated' if self.estimated else ''}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what `as_dict` made data of."""
        return cls(**data)


NOTHING = Spending()


class Slip:
    """A reservation for one request, until it is known what that cost."""

    def __init__(self) -> None:
        self.paid = NOTHING

    def pay(self, spending: Spending) -> None:
        """State what the request cost; without this, it was free."""
        self.paid = spending


class Purse:
    """What may still be spent; it counts requests in flight by an estimate of their cost.

    A request is sent while what was spent, together with the estimates of what is in flight, is
    below the limits. If only the estimates are in the way, the asker waits until they are facts.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._tokens: float | None = None
        self._cost: float | None = None
        self._spent = NOTHING
        self._in_flight: dict[Slip, Spending] = {}

    def allow(self, tokens: float | None, cost: float | None) -> None:
        """Begin anew with so many tokens and so much money; None means no limit."""
        with self._changed:
            self._tokens, self._cost, self._spent = tokens, cost, NOTHING
            self._changed.notify_all()

    @property
    def in_flight(self) -> Spending:
        """The estimated cost of all requests without a reply so far."""
        with self._changed:
            return sum(self._in_flight.values(), NOTHING)

    @contextmanager
    def reserved(self, estimate: Spending) -> Iterator[Slip]:
        """Reserve the estimated cost of a request while it is in flight.

        Raises
        ------
        BudgetSpent
            If nothing is left.
        """
        slip = Slip()
        with self._changed:
            while self._used(self._spent + sum(self._in_flight.values(), NOTHING)):
                if self._used(self._spent):
                    raise BudgetSpent("nothing is left to spend")
                self._changed.wait()
            self._in_flight[slip] = estimate
        try:
            yield slip
        finally:
            with self._changed:
                del self._in_flight[slip]
                self._spent += slip.paid
                self._changed.notify_all()

    def _used(self, spending: Spending) -> bool:
        too_many = self._tokens is not None and spending.tokens >= self._tokens
        return too_many or (self._cost is not None and spending.cost >= self._cost)
