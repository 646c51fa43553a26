"""Sentences on formats that a kind of GPU does not run as they are."""

from collections.abc import Iterable

from colocate.inputs.format_support import FormatLimit, Maker, Runs, maker_of
from colocate.outputs.text.wording import listed, quoted

MOST_NAMES = 5
"""Names in a note, which should stay short."""
ONLY_FROM = {"int4": "GPTQ", "int8": "GPTQ or bitsandbytes"}
"""By format: the checkpoints that run on GPUs too old for the others."""
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang"}


def format_notes(
    limits: Iterable[tuple[str, FormatLimit]], engine: str = ""
) -> list[tuple[str, tuple[str, ...]]]:
    """Return a sentence for each format and kind of GPU, and the models that it is about.

    Parameters
    ----------
    limits
        The name of a model and where a format of it does not run as it is.
    engine
        What serves the models; empty before that is decided.
    """
    models: dict[FormatLimit, dict[str, None]] = {}
    for model, limit in limits:
        models.setdefault(limit, {})[model] = None
    return [
        (_sentence(limit, list(names), engine), tuple(names)) for limit, names in models.items()
    ]


def _sentence(limit: FormatLimit, models: list[str], engine: str) -> str:
    what = limit.format if limit.field == "dtype" else f"keys and values in {limit.format}"
    which = f"{limit.field} of {listed([quoted(name) for name in models], MOST_NAMES)}"
    only = f", and only in {ENGINE_NAMES[limit.engine]}" if limit.engine else ""
    if limit.runs is Runs.NOT and engine:
        advice = "Use another engine, or plan without this kind of GPU for it."
        return f"{limit.kind} cannot run {what} in {ENGINE_NAMES[engine]} ({which}). {advice}"
    if limit.runs is Runs.NOT:
        return f"{limit.kind} cannot run {what}, so the plan uses other GPUs ({which})"
    if limit.runs is Runs.NATIVE:
        return f"{limit.kind} runs {what} only in {ENGINE_NAMES[limit.engine or 'vllm']} ({which})"
    if limit.field == "kv_dtype" and maker_of(limit.kind) is Maker.NVIDIA:
        return (
            f"{limit.kind} runs {what} only with the FlashInfer attention backend{only} ({which})"
        )
    if limit.format in ONLY_FROM:
        found = ONLY_FROM[limit.format]
        return f"{limit.kind} runs {what} only from checkpoints of {found}{only} ({which})"
    widened = "weights" if limit.field == "dtype" else "they"
    return (
        f"{limit.kind} does not calculate in {what}: {widened} are widened to 16 bits before use"
        f"{only}, which saves memory but no time ({which})"
    )
