"""The time windows of a fleet file: their names and weights, and fields with a number for each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.expectation import Noun
from colocate.problem.window import Window

if TYPE_CHECKING:
    from colocate.inputs.spec import FleetSpec, ModelSpec

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


def windows_of(spec: "FleetSpec") -> tuple[Window, ...]:
    """Return the windows that a fleet file names; none where it names none."""
    return tuple(
        Window(entry) if isinstance(entry, str) else Window(entry.name, entry.weight)
        for entry in spec.windows or ()
    )


def check_windows(spec: "FleetSpec") -> None:
    """Refuse windows with one name, and lists that have not one number for each window."""
    names = [window.name for window in windows_of(spec)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        found = f"has {twice[0]!r} more than once"
        raise InputError(Fault(found, advice="give each window its own name", path=("windows",)))
    lists = [
        (number, model, field, len(value))
        for number, model in enumerate(spec.models)
        for field in PER_WINDOW
        if isinstance(value := getattr(model, field), list) and len(value) > 1
    ]
    wanted = len(names) or max([length for *_, length in lists], default=1)
    like = "as many as windows" if names else "as the longest list has"
    faults = [
        _wrong_length(number, model, field, length, f"{wanted}, {like}, or one number")
        for number, model, field, length in lists
        if length != wanted
    ]
    if faults:
        raise InputError(*faults)


def _wrong_length(number: int, model: "ModelSpec", field: str, length: int, expected: str) -> Fault:
    path = ("models", number, field)
    return Fault(f"has {length} numbers", expected, path=path, owner=Owner("model", model.name))


def with_headroom(spec: "FleetSpec") -> "FleetSpec":
    """Return a fleet whose models are asked more than it states, by its headroom."""
    if not spec.headroom:
        return spec
    factor = 1.0 + spec.headroom
    models = [
        model.model_copy(
            update={
                field: in_all_windows(value, factor)
                for field in PER_WINDOW
                if (value := getattr(model, field)) is not None
            }
        )
        for model in spec.models
    ]
    return spec.model_copy(update={"models": models})


def in_all_windows(value: float | list[float], factor: float) -> float | list[float]:
    """Return what a field says, multiplied by a factor in every window."""
    return [number * factor for number in value] if isinstance(value, list) else value * factor
