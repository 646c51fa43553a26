"""The time windows of a whole fleet file: checked against its models, and with headroom."""

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.spec import FleetSpec, ModelSpec
from colocate.inputs.window_spec import PER_WINDOW, in_all_windows
from colocate.problem.window import Window


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
