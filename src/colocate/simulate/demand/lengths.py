"""How long prompts and outputs are, around a mean."""

from dataclasses import dataclass
from math import log, log1p, sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from colocate.errors import UnknownNameError
from colocate.problem.quantity import checked_number
from colocate.simulate.demand.requests import MOST_TOKENS

Shape = Literal["fixed", "exponential", "log-normal"]


@dataclass(frozen=True)
class LengthDistribution:
    """How the lengths of prompts, or of outputs, differ from their mean.

    Lengths are whole numbers of tokens, at least 1. Where the mean is 0 all of them are 0: such a
    model makes no tokens.

    Parameters
    ----------
    shape
        `fixed`: all are the mean, rounded. `exponential`: after each token it is equally likely
        that more follow (a geometric distribution), with exactly the mean. `log-normal`: most are
        short and few very long.
    spread
        Of a log-normal distribution: its standard deviation over its mean.
    """

    shape: Shape = "exponential"
    spread: float = 1.0

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise UnknownNameError.among("lengths", str(self.shape), get_args(Shape))
        spread = checked_number(self.spread, ("spread",), positive=True)
        object.__setattr__(self, "spread", spread)

    def draw(self, rng: np.random.Generator, mean: float, number: int) -> NDArray[np.int32]:
        """Return lengths; drawn in several parts they are the same.

        Parameters
        ----------
        rng
            The source of randomness.
        mean
            In tokens.
        number
            How many lengths.
        """
        if mean <= 1.0 or self.shape == "fixed":
            return np.full(number, _rounded(mean), dtype=np.int32)
        if self.shape == "exponential":
            lengths = rng.standard_exponential(number)
            lengths /= -log1p(-1.0 / mean)
            np.ceil(lengths, out=lengths)
        else:
            variance = log1p(self.spread * self.spread)
            lengths = rng.standard_normal(number)
            lengths *= sqrt(variance)
            lengths += log(mean) - variance / 2.0
            np.rint(np.exp(lengths, out=lengths), out=lengths)
        np.maximum(lengths, 1.0, out=lengths)
        return np.minimum(lengths, MOST_TOKENS, out=lengths).astype(np.int32)


def _rounded(mean: float) -> int:
    return 0 if mean == 0.0 else min(max(round(mean), 1), MOST_TOKENS)
