"""Which kind each layer is of: attention, a state, a window; families tell it in many ways."""

from colocate.inputs.huggingface.family import CROSS, FULL, NO_WINDOW, SLIDING, Family, Kinds
from colocate.inputs.huggingface.fields import Fields

MOST_LAYERS = 1_000
"""A config that states more layers is refused: no model has as many."""


def layer_count(fields: Fields) -> int:
    """Return how many layers there are."""
    layers = fields.count("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise fields.refusal("num_hidden_layers", f"at most {MOST_LAYERS}")
    return layers


def layer_kinds(fields: Fields, family: Family) -> tuple[str, ...]:
    """Return the kind of every layer: as the config lists them, else as the family has them."""
    kinds = fields.texts("layer_types")
    if kinds:
        layers = fields.optional_count("num_hidden_layers") or min(len(kinds), MOST_LAYERS)
        if len(kinds) != layers:
            raise fields.refusal("layer_types", f"{layers} texts, one for each layer")
        return kinds
    return _by_windows(fields, family) if family.kinds is None else family.kinds(fields)


def every(kind: str) -> Kinds:
    """Return the rule that all layers are of one kind."""
    return lambda fields: (kind,) * layer_count(fields)


def listed(name: str, inside: str, outside: str, first: int = 0) -> Kinds:
    """Return the rule that a field lists the layers of one kind.

    Parameters
    ----------
    name
        The field.
    inside, outside
        The kind of the layers that it lists, and of the others.
    first
        The number of the first layer, as the field counts.
    """

    def kinds(fields: Fields) -> tuple[str, ...]:
        found = set(fields.whole_numbers(name))
        layers = range(first, first + layer_count(fields))
        return tuple(inside if layer in found else outside for layer in layers)

    return kinds


def marked(name: str, marks: dict[int, str]) -> Kinds:
    """Return the rule that a field has a number for each layer, and each number means a kind."""

    def kinds(fields: Fields) -> tuple[str, ...]:
        found, layers = fields.whole_numbers(name), layer_count(fields)
        if len(found) != layers or not set(found) <= set(marks):
            allowed = " or ".join(map(str, marks))
            raise fields.refusal(name, f"{layers} numbers, each {allowed}")
        return tuple(marks[mark] for mark in found)

    return kinds


def lettered(name: str, letters: dict[str, str]) -> Kinds:
    """Return the rule that a text has a letter for each layer, and each letter means a kind."""

    def kinds(fields: Fields) -> tuple[str, ...]:
        text = fields.text(name) or ""
        if not text or not set(text) <= set(letters) or len(text) != layer_count(fields):
            allowed = " ".join(letters)
            raise fields.refusal(name, f"one letter for each layer, of {allowed}")
        return tuple(letters[letter] for letter in text)

    return kinds


def spaced(period: str, offset: str, inside: str, outside: str) -> Kinds:
    """Return the rule that every so many layers one is of another kind.

    Parameters
    ----------
    period, offset
        The fields that say after how many layers it comes again, and where it comes first.
    inside, outside
        Its kind, and that of the others.
    """

    def kinds(fields: Fields) -> tuple[str, ...]:
        step, first = fields.count(period), fields.count(offset, least=0)
        layers = range(layer_count(fields))
        return tuple(inside if layer % step == first else outside for layer in layers)

    return kinds


def last_of_each(period: str, inside: str, outside: str) -> Kinds:
    """Return the rule that the last of each so many layers is of another kind.

    Parameters
    ----------
    period
        The field that says how many.
    inside, outside
        The kind of the last one, and of the others.
    """

    def kinds(fields: Fields) -> tuple[str, ...]:
        step = fields.count(period)
        layers = range(1, layer_count(fields) + 1)
        return tuple(outside if layer % step else inside for layer in layers)

    return kinds


def crossed(fields: Fields) -> tuple[str, ...]:
    """Return the kinds where `cross_attention_layers` look at a picture."""
    return listed("cross_attention_layers", CROSS, FULL)(fields)


def _by_windows(fields: Fields, family: Family) -> tuple[str, ...]:
    layers = layer_count(fields)
    pattern = family.window_pattern
    if pattern > 1:
        pattern = fields.optional_count("sliding_window_pattern") or pattern
    off = family.window_switch is not None and not fields.switch(family.window_switch)
    if pattern == NO_WINDOW or off:
        return (FULL,) * layers
    first = fields.optional_count("max_window_layers", least=0) or 0
    return tuple(
        SLIDING if layer >= first and (pattern == 1 or (layer + 1) % pattern) else FULL
        for layer in range(layers)
    )
