"""The time windows of a whole fleet file: checked against its models, and with headroom."""

from typing import NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.demand import load_of
from colocate.inputs.spec import FleetSpec, ModelSpec
from colocate.inputs.window_spec import (
    PER_WINDOW,
    StatedWindow,
    WindowSpec,
    in_all_windows,
    numbers_of,
)
from colocate.problem.tolerance import JUST_ABOVE
from colocate.problem.window import Window, numbered_windows


def windows_of(spec: FleetSpec) -> tuple[Window, ...]:
    """Return the windows that a fleet file names; none where it names none."""
    return tuple(
        Window(entry) if isinstance(entry, str) else Window(entry.name, entry.weight)
        for entry in spec.windows or ()
    )


def check_windows(spec: FleetSpec) -> None:
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


def _wrong_length(number: int, model: ModelSpec, field: str, length: int, expected: str) -> Fault:
    path = ("models", number, field)
    return Fault(f"has {length} numbers", expected, path=path, owner=Owner("model", model.name))


def with_headroom(spec: FleetSpec) -> FleetSpec:
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


class WindowShare(NamedTuple):
    """Some windows, and how much of the time they are."""

    windows: tuple[Window, ...]
    share: float
    """Of the time, by the weights of all windows."""


def left_out(spec: FleetSpec) -> WindowShare:
    """Return the windows with most demand that the percentile of a fleet leaves out."""
    windows = _all_windows(spec)
    numbers = _left_out(spec, windows)
    whole = sum(window.weight for window in windows)
    return WindowShare(
        tuple(windows[number] for number in sorted(numbers)),
        sum(windows[number].weight for number in numbers) / whole,
    )


def kept_in_full(spec: FleetSpec) -> WindowShare | None:
    """Return why a percentile leaves nothing out: the window with most demand, which is too long.

    None if there is no percentile, if it asks for all the time, or if it leaves something out.
    """
    windows = _all_windows(spec)
    percentile = spec.window_percentile
    if percentile is None or percentile >= 100.0 or _left_out(spec, windows):
        return None
    busiest = windows[_by_load(spec, len(windows))[0]]
    return WindowShare((busiest,), busiest.weight / sum(window.weight for window in windows))


def planned_for(spec: FleetSpec) -> FleetSpec:
    """Return a fleet with the windows that it is planned for, and with its headroom."""
    windows = _all_windows(spec)
    numbers = _left_out(spec, windows)
    if not numbers:
        return with_headroom(spec)
    kept = [number for number in range(len(windows)) if number not in numbers]
    models = [
        model.model_copy(
            update={
                field: [value[number] for number in kept]
                for field in PER_WINDOW
                if isinstance(value := getattr(model, field), list) and len(value) > 1
            }
        )
        for model in spec.models
    ]
    stated: list[StatedWindow] = [
        WindowSpec(name=windows[number].name, weight=windows[number].weight) for number in kept
    ]
    return with_headroom(spec.model_copy(update={"models": models, "windows": stated}))


def _all_windows(spec: FleetSpec) -> tuple[Window, ...]:
    """Return the windows of a fleet, numbered where nobody has named them."""
    lengths = [
        len(value)
        for model in spec.models
        for field in PER_WINDOW
        if isinstance(value := getattr(model, field), list)
    ]
    return windows_of(spec) or numbered_windows(max(lengths, default=1))


def _left_out(spec: FleetSpec, windows: tuple[Window, ...]) -> set[int]:
    """Return the numbers of the windows with most load that may be left out."""
    if spec.window_percentile is None or len(windows) == 1:
        return set()
    spare = sum(window.weight for window in windows) * (1.0 - spec.window_percentile / 100.0)
    spare *= JUST_ABOVE
    found: set[int] = set()
    for number in _by_load(spec, len(windows)):
        if len(found) == len(windows) - 1 or windows[number].weight > spare:
            break
        spare -= windows[number].weight
        found.add(number)
    return found


def _by_load(spec: FleetSpec, windows: int) -> list[int]:
    """Return the numbers of the windows, that with most load first."""
    total = [0.0] * windows
    for model in spec.models:
        loads = numbers_of(load_of(model, spec.load))
        for number in range(windows):
            total[number] += loads[number if len(loads) > 1 else 0]
    return sorted(range(windows), key=lambda number: -total[number])
