"""The constants of an engine from readings of it: robust least squares, with uncertainty.

A decode step of a batch of `b` requests with a mean context of `n` tokens takes
`base + per_request b + per_1k_context b n / 1000`; the prefill of `p` tokens takes
`prefill_base + prefill_per_1k_tokens p / 1000`. Both are linear in their constants.

Errors count relative to the time that they are errors of. Readings that other work has disturbed
weigh less (Huber 1964, "Robust estimation of a location parameter"). Standard errors are those of
MacKinnon and White (1985, HC3), which hold where readings differ in their noise, or those of
ordinary least squares where these are larger. No constant is below zero. A constant that the
readings cannot tell apart from another one is zero, and says which one holds its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HUBER = 1.345
"""Multiples of the noise beyond which a reading weighs less; 95% efficient for normal noise."""
SPREAD = 1.4826
"""Standard deviations in a median absolute deviation, for normal noise."""
LEAST_NOISE = 1e-5
"""Relative noise below which readings are exact: no clock of a server is as good as this."""
LEAST_OWN_SHARE = 0.01
"""Part of a column that the others must leave unexplained for its constant to be told apart.

One hundredth is a spread of a tenth: contexts of 460 and 560 tokens are one context.
"""
LEAST_FREEDOM = 0.05
"""Of one reading, the part that it may differ by from a fit that it is alone to determine."""
ROUNDS = 50
"""Rounds of reweighting; a dozen settle it."""
NORMAL, FIRST, SECOND = 1.959964, 2.37227, 2.82250
"""The 97.5% quantile of Student's t in powers of 1 / freedom (Abramowitz and Stegun 26.7.5)."""


@dataclass(frozen=True)
class Constant:
    """One constant, in milliseconds.

    Parameters
    ----------
    value
        The estimate, not below zero.
    standard_error
        Of the estimate; infinite where there are too few readings to tell.
    margin
        Half of its 95% interval.
    merged_into
        The constant that holds its share, where the readings do not tell them apart.
    """

    value: float
    standard_error: float
    margin: float
    merged_into: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether it is told apart from the others and from zero."""
        return not self.merged_into and self.value > self.margin


@dataclass(frozen=True)
class LinearFit:
    """Constants of one linear law, and how well it describes the readings.

    Parameters
    ----------
    constants
        By name.
    readings
        How many there were.
    unusual
        How many were so far off that they weigh less than half.
    typical_error
        The median relative difference between a reading and the law.
    """

    constants: dict[str, Constant] = field(hash=False)
    readings: int
    unusual: int
    typical_error: float


@dataclass(frozen=True)
class Calibration:
    """The constants of an engine.

    Parameters
    ----------
    steps
        Of decoding.
    prefills
        Of prompts; None where none was measured.
    """

    steps: LinearFit
    prefills: LinearFit | None

    @property
    def constants(self) -> dict[str, Constant]:
        """All constants by name, in the order in which a fleet file lists them."""
        prefills = self.prefills.constants if self.prefills else {}
        return {**self.steps.constants, **dict(reversed(prefills.items()))}


def fit_steps(
    batches: Sequence[float], contexts: Sequence[float], milliseconds: Sequence[float]
) -> LinearFit:
    """Return the constants of decode steps.

    Parameters
    ----------
    batches
        Requests in the batch, for each reading.
    contexts
        Their mean context in tokens.
    milliseconds
        What a step took.
    """
    batch, context = np.asarray(batches, float), np.asarray(contexts, float)
    columns = {
        "base_ms": np.ones(len(batch)),
        "per_request_ms": batch,
        "per_1k_context_ms": batch * context / 1000.0,
    }
    return fit_linear(columns, np.asarray(milliseconds, float))


def fit_prefills(tokens: Sequence[float], milliseconds: Sequence[float]) -> LinearFit:
    """Return the constants of prefills, from the tokens of prompts and what these took."""
    tokens_1k = np.asarray(tokens, float) / 1000.0
    columns = {"prefill_ms_per_1k_tokens": tokens_1k, "prefill_base_ms": np.ones(len(tokens_1k))}
    return fit_linear(columns, np.asarray(milliseconds, float))


def fit_linear(columns: dict[str, Array], values: Array) -> LinearFit:
    """Return the constants with which the columns add up to the values, all of which are > 0.

    Of columns that cannot be told apart, the first one takes all.
    """
    merged = _merged(columns, values)
    names = [name for name in columns if name not in merged]
    design = np.column_stack([columns[name] for name in names])
    free, weights, level = _robust(design, values)
    bounded = _not_negative(design, values, weights / level**2)
    errors = _standard_errors(design, values - design @ free, weights / level**2)
    stretch = student(len(values) - len(names))
    constants = {
        name: Constant(float(value), float(error), float(stretch * error))
        for name, value, error in zip(names, bounded, errors, strict=True)
    }
    constants |= {name: Constant(0.0, inf, inf, into) for name, into in merged.items()}
    off = np.abs(values - design @ bounded) / values
    return LinearFit(
        {name: constants[name] for name in columns},
        len(values),
        int(np.sum(weights < 0.5)),
        float(np.median(off)),
    )


def student(freedom: int) -> float:
    """Return the 97.5% quantile of Student's t, infinite without any freedom."""
    if freedom < 1:
        return inf
    exact = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645}
    return exact.get(freedom, NORMAL + FIRST / freedom + SECOND / freedom**2)


def _merged(columns: dict[str, Array], values: Array) -> dict[str, str]:
    """Return the columns that those before them explain, with the one that is most like each."""
    kept: dict[str, Array] = {}
    merged: dict[str, str] = {}
    for name, column in columns.items():
        scaled = column / values
        length = float(np.linalg.norm(scaled))
        too_few = len(kept) >= len(values)
        if kept and (too_few or _own_share(scaled, list(kept.values())) < LEAST_OWN_SHARE):
            alike = {
                other: abs(float(scaled @ before)) / float(np.linalg.norm(before) * length or 1.0)
                for other, before in kept.items()
            }
            merged[name] = max(alike, key=alike.__getitem__)
        else:
            kept[name] = scaled
    return merged


def _own_share(column: Array, others: list[Array]) -> float:
    """Return the part of a column's square that is no combination of the others."""
    whole = float(column @ column)
    if not others or whole == 0.0:
        return float(whole > 0.0)
    basis = np.column_stack(others)
    rest = column - basis @ np.linalg.lstsq(basis, column, rcond=None)[0]
    return float(rest @ rest) / whole


def _robust(design: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return coefficients, the weights of readings, and the level that errors are relative to."""
    weights, level = np.ones(len(values)), values
    coefficients = _least_squares(design, values, 1.0 / level**2)
    for _ in range(ROUNDS):
        level = np.maximum(design @ coefficients, values.min() / 2.0)
        off = np.abs(values - design @ coefficients) / level
        noise = max(SPREAD * float(np.median(off)), LEAST_NOISE)
        weights = np.minimum(1.0, HUBER * noise / np.maximum(off, LEAST_NOISE))
        before = coefficients
        coefficients = _least_squares(design, values, weights / level**2)
        if np.allclose(before, coefficients, rtol=LEAST_NOISE, atol=0.0):
            break
    return coefficients, weights, level


def _least_squares(design: Array, values: Array, weights: Array) -> Array:
    root = np.sqrt(weights)
    found = np.linalg.lstsq(design * root[:, None], values * root, rcond=None)[0]
    return np.asarray(found, np.float64)


def _not_negative(design: Array, values: Array, weights: Array) -> Array:
    """Return the best coefficients of which none is below zero: few columns, so all are tried."""
    count = design.shape[1]
    best, least = np.zeros(count), inf
    for size in range(count, 0, -1):
        for chosen in map(list, combinations(range(count), size)):
            tried = np.zeros(count)
            tried[chosen] = _least_squares(design[:, chosen], values, weights)
            loss = float(np.sum(weights * (values - design @ tried) ** 2))
            if tried.min() >= 0.0 and loss < least:
                best, least = tried, loss
    return best


def _standard_errors(design: Array, residuals: Array, weights: Array) -> Array:
    """Return the larger of robust (HC3) and ordinary standard errors."""
    rows, count = design.shape
    if rows <= count:
        return np.full(count, inf)
    inverse = np.linalg.pinv(design.T @ (weights[:, None] * design))
    leverage = weights * np.einsum("ij,jk,ik->i", design, inverse, design)
    stretched = weights * residuals / np.maximum(1.0 - leverage, LEAST_FREEDOM)
    middle = design.T @ (stretched[:, None] ** 2 * design)
    variance = float(np.sum(weights * residuals**2)) / (rows - count)
    robust = np.diag(inverse @ middle @ inverse)
    errors: Array = np.sqrt(np.maximum(robust, variance * np.diag(inverse)))
    return errors
