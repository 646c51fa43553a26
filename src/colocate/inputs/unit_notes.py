"""Values of a fleet file that are allowed but hardly meant: another unit, or of no use."""

from collections.abc import Iterator

from colocate.inputs.compute import known_accelerator
from colocate.inputs.fleet import Fleet
from colocate.inputs.spec import ModelSpec, Steps

SLOW_TOKEN = 2.0
"""Seconds for each token beyond which milliseconds were meant: people read ten times as fast."""
SLOW_ANSWER = 100.0
"""Seconds to the first token beyond which milliseconds were meant: who can wait states none."""
QUICK_STEP = 0.05
"""Milliseconds of a step below which seconds were meant: launching one kernel a layer takes
longer."""


def unit_notes(fleet: Fleet) -> dict[str, list[str]]:
    """Return what a reader should look at again: the models of each note."""
    kinds = {gpu.kind for gpu in fleet.problem.gpus}
    found: dict[str, list[str]] = {}
    for model in fleet.spec.models:
        for note in (*_targets(model), *_steps(model), *_unused_steps(model, kinds)):
            found.setdefault(note, []).append(model.name)
    return found


def _targets(model: ModelSpec) -> Iterator[str]:
    for name, seconds, longest in (
        ("tpot_slo", model.tpot_slo, SLOW_TOKEN),
        ("ttft_slo", model.ttft_slo, SLOW_ANSWER),
    ):
        if seconds is not None and seconds > longest:
            yield f"{name}: {seconds:g} is in seconds; if ms are meant, write {seconds / 1e3:g}"
    if model.tpot_slo is not None and model.output_tokens is not None and model.output_tokens <= 1:
        told = f"output_tokens: {model.output_tokens:g}"
        yield f"tpot_slo is not used, since no token comes after the first ({told}); use ttft_slo"


def _steps(model: ModelSpec) -> Iterator[str]:
    for steps in _all_steps(model):
        if 0.0 < steps.base_ms < QUICK_STEP:
            written = f"base_ms: {steps.base_ms:g} is in milliseconds"
            yield f"{written}; if seconds are meant, write {1e3 * steps.base_ms:g}"


def _all_steps(model: ModelSpec) -> list[Steps]:
    if model.steps is None:
        return []
    return [model.steps] if isinstance(model.steps, Steps) else list(model.steps.values())


def _unused_steps(model: ModelSpec, kinds: set[str]) -> Iterator[str]:
    """Yield the steps for kinds of GPU that the fleet does not have."""
    if model.steps is None or isinstance(model.steps, Steps):
        return
    rows = [row for kind in kinds if (row := known_accelerator(kind)) is not None]
    for kind in model.steps:
        if kind not in kinds and known_accelerator(kind) not in rows:
            yield f"steps for {kind!r} are not used, since the fleet has no such GPU"
