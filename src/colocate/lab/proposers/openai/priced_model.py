"""A model that a server offers, and its prices."""

from dataclasses import dataclass
from math import inf
from typing import Self

from colocate.errors import InputError

TOKENS_OF_A_PRICE = 1e6
"""Providers state prices for a million tokens."""


@dataclass(frozen=True)
class PricedModel:
    """A model that a server offers.

    Parameters
    ----------
    name
        Its name on the server.
    price_in, price_out
        Price of a million tokens of a question and of an answer.
    """

    name: str
    price_in: float = 0.0
    price_out: float = 0.0

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError.of("model", self.name, "a name that is not blank")
        for price in (self.price_in, self.price_out):
            if not 0 <= price < inf:
                raise InputError.of(f"price of {self.name!r}", price, "a finite number >= 0")

    @classmethod
    def read(cls, text: str) -> Self:
        """Read NAME, or NAME=PRICE_IN,PRICE_OUT."""
        name, _, prices = text.rpartition("=") if "," in text else (text, "", "")
        try:
            return cls(name, *(float(price) for price in prices.split(",") if price))
        except (TypeError, ValueError) as error:
            expected = "NAME or NAME=PRICE_IN,PRICE_OUT"
            raise InputError.of("model", text, expected) from error

    @property
    def is_priced(self) -> bool:
        """Whether a price was given; without one, the server's own word on the cost counts."""
        return bool(self.price_in or self.price_out)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of a question and its answer."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / TOKENS_OF_A_PRICE
