"""How long an engine may take until it answers: to read its weights, and to get ready."""

from collections.abc import Iterable
from math import ceil

from colocate.inputs.huggingface.formats import bits_of
from colocate.inputs.spec import ModelSpec
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.engines.weight_formats import FULL_BITS, made_while_loading
from colocate.outputs.emit.settings import EmitSettings

GET_READY_SECONDS = 600
"""For all but the weights: imports, compiling and the capture of graphs take minutes when nothing
is cached, and more where several engines do so at once."""
STEP_SECONDS = 10
"""Times are rounded up to these: the period of a probe."""


def weights_on_disk_gb(spec: ModelSpec, args: Iterable[str]) -> float:
    """Return the GB that an engine reads: 16 bits a weight where it makes less while loading."""
    made = made_while_loading(spec, list(args)) is not None
    grown = max(FULL_BITS / bits_of(spec.dtype), 1.0) if made else 1.0
    return (spec.size_gb or 0.0) * grown


def ready_seconds(launch: Launch, settings: EmitSettings) -> int:
    """Return the seconds after which an engine that does not answer has failed."""
    load = weights_on_disk_gb(launch.spec, launch.args) / settings.load_gb_per_second
    return ceil((GET_READY_SECONDS + load) / STEP_SECONDS) * STEP_SECONDS


def ready_by(launches: Iterable[Launch], settings: EmitSettings) -> dict[str, int]:
    """Return the seconds after which each engine answers if all are started at once, by name.

    Each waits for those before it on its GPUs.
    """
    found: dict[str, int] = {}
    for launch in sorted(launches, key=lambda launch: launch.wave):
        before = max((found[name] for name in launch.after), default=0)
        found[launch.name] = before + ready_seconds(launch, settings)
    return found
