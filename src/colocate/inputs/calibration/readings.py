"""What was measured of an engine, whatever it was measured with."""

from collections.abc import Sequence
from dataclasses import dataclass

from colocate.latency.calibration import Calibration, fit_prefills, fit_steps


@dataclass(frozen=True)
class StepReading:
    """What a decode step of some requests took.

    Parameters
    ----------
    batch
        Requests in the batch.
    context
        Their mean context in tokens.
    milliseconds
        The mean of a step.
    """

    batch: float
    context: float
    milliseconds: float


@dataclass(frozen=True)
class PrefillReading:
    """What a prompt of so many tokens took until the first token of its answer."""

    tokens: float
    milliseconds: float


def calibration_of(steps: Sequence[StepReading], prefills: Sequence[PrefillReading]) -> Calibration:
    """Return the constants that at least one reading of a step, and those of prefills, tell."""
    decoding = fit_steps(
        [each.batch for each in steps],
        [each.context for each in steps],
        [each.milliseconds for each in steps],
    )
    if not prefills:
        return Calibration(decoding, None)
    tokens = [each.tokens for each in prefills]
    return Calibration(decoding, fit_prefills(tokens, [each.milliseconds for each in prefills]))
