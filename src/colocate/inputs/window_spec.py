"""The time windows of a fleet file: their names and weights, and fields with a number for each."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from colocate.inputs.expectation import Noun
from colocate.problem.window import Window

MOST_WINDOWS = 10_000
"""In a fleet file: a year by the hour has 8,784, and more are a slip."""
PER_WINDOW = ("rate", "tokens_per_second", "load")
"""Fields of a model that may have a number for each window."""

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Amounts = Annotated[list[Amount], Field(min_length=1, max_length=MOST_WINDOWS)]
PerWindow = Amount | Amounts
"""One number for all windows, or a list with one for each."""


class WindowSpec(BaseModel):
    """One time window with a weight."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1)] = Field(description="Unique among the windows.")
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        1.0, description="How much of the time it stands for, in any unit, such as hours."
    )


StatedWindow = Annotated[
    Annotated[str, Field(min_length=1)] | WindowSpec,
    Noun("name, or section with name and weight", "names, or sections with name and weight"),
]
StatedWindows = Annotated[list[StatedWindow], Field(min_length=1, max_length=MOST_WINDOWS)]


def numbers_of(value: float | Sequence[float]) -> list[float]:
    """Return what a field says of every window; a single number if it says the same of all."""
    return list(value) if isinstance(value, Sequence) else [value]


def peak_of(value: float | Sequence[float] | None) -> float | None:
    """Return the highest number of a field, in whichever window that is."""
    return None if value is None else max(numbers_of(value))


def mean_of(value: float | Sequence[float], windows: Sequence[Window]) -> float:
    """Return the mean of a field over all windows, by their weights."""
    numbers = numbers_of(value)
    if len(numbers) == 1:
        return numbers[0]
    weights = [window.weight for window in windows] or [1.0] * len(numbers)
    return sum(n * w for n, w in zip(numbers, weights, strict=True)) / sum(weights)


def in_all_windows(value: float | list[float], factor: float) -> float | list[float]:
    """Return what a field says, multiplied by a factor in every window."""
    return [number * factor for number in value] if isinstance(value, list) else value * factor
