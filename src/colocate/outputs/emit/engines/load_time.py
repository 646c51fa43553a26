"""How long an engine may take until it answers."""

from collections.abc import Iterable

from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.engines.weight_formats import FULL_BITS, made_while_loading


def weights_on_disk_gb(spec: ModelSpec, args: Iterable[str]) -> float:
    """Return the GB that an engine reads: 16 bits a weight where it makes less while loading."""
    made = made_while_loading(spec, list(args)) is not None
    grown = max(FULL_BITS / bits_of(spec.dtype), 1.0) if made else 1.0
    return (spec.size_gb or 0.0) * grown
