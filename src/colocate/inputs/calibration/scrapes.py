"""What an engine has counted up to some moments, and the readings between two of them.

vLLM counts its steps (`iteration_tokens_total`), in which prefills and decoding are together: of
all steps, those with a prefill last as long as the prefill. SGLang counts passes for decoding and
for prefills apart, and a token that waits for a prefill waits for both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault
from colocate.inputs.calibration.metrics_text import MetricSample
from colocate.inputs.calibration.readings import PrefillReading, StepReading

LEAST_TOKENS = 20
"""Tokens or steps between two moments that a mean is made of, at least."""
MOST_PREFILLS = 0.8
"""Share of steps with a prefill beyond which nothing is left to tell of decoding."""

VLLM = {
    "iteration_tokens_total_count": "steps",
    "inter_token_latency_seconds_sum": "gap_seconds",
    "inter_token_latency_seconds_count": "gaps",
    "time_per_output_token_seconds_sum": "old_gap_seconds",
    "time_per_output_token_seconds_count": "old_gaps",
    "request_prefill_time_seconds_sum": "prefill_seconds",
    "request_prefill_time_seconds_count": "prefills",
    "request_prompt_tokens_sum": "request_tokens",
    "request_prompt_tokens_count": "requests",
    "prompt_tokens_total": "prompt_tokens",
    "prompt_tokens_cached_total": "cached_tokens",
    "generation_tokens_total": "output_tokens",
}
"""By the names of vLLM; some versions count gaps twice, by an old name and a new one."""
SGLANG = {
    "cuda_graph_passes_total": "steps",
    "inter_token_latency_seconds_sum": "gap_seconds",
    "inter_token_latency_seconds_count": "gaps",
    "time_to_first_token_seconds_sum": "prefill_seconds",
    "time_to_first_token_seconds_count": "prefills",
    "queue_time_seconds_sum": "queue_seconds",
    "queue_time_seconds_count": "queued",
    "num_requests_total": "requests",
    "prompt_tokens_total": "request_tokens",
    "cached_tokens_total": "cached_tokens",
    "generation_tokens_total": "output_tokens",
}
"""By the names of SGLang; prompts and requests are counted at the same moment."""
NAMES = {"vllm": VLLM, "sglang": SGLANG}


@dataclass(frozen=True)
class Scrape:
    """What an engine has counted up to a moment.

    Parameters
    ----------
    engine
        `vllm` or `sglang`.
    model
        As the engine calls it.
    totals
        By the names on the right of `VLLM` and `SGLANG`.
    """

    engine: str
    model: str
    totals: Mapping[str, float]

    def since(self, before: "Scrape | None") -> Mapping[str, float] | None:
        """Return what was counted in between, None if the engine started anew."""
        earlier = before.totals if before else {}
        grown = {name: total - earlier.get(name, 0.0) for name, total in self.totals.items()}
        return None if any(value < 0 for value in grown.values()) else grown


def scrape_of(samples: Iterable[MetricSample], model: str | None) -> Scrape:
    """Return the totals of one model, over all engines that serve it.

    Parameters
    ----------
    samples
        All that was counted.
    model
        The model, as its engine calls it; needed only if there are several.

    Raises
    ------
    InputError
        If there is no such model, or there are several and none is named.
    """
    totals: dict[tuple[str, str], dict[str, float]] = {}
    for sample in samples:
        engine, _, name = sample.name.partition(":")
        meaning = NAMES.get(engine, {}).get(name)
        if meaning and (not sample.mode or sample.mode.startswith("decode")):
            counted = totals.setdefault((sample.model, engine), {})
            counted[meaning] = counted.get(meaning, 0.0) + sample.value
    if not totals:
        expected = "metrics of vLLM, or of SGLang with --enable-metrics"
        raise InputError(Fault("has no metrics of an engine", expected))
    found = sorted({name for name, _ in totals})
    if model is None and len(found) > 1:
        raise InputError.missing("model", f"one of: {', '.join(found[:8])}", "give --model NAME")
    if model is not None and model not in found:
        raise UnknownNameError.among("model", model, found)
    chosen = found[0] if model is None else model
    engine = next(engine for name, engine in totals if name == chosen)
    counted = totals[chosen, engine]
    old = {"gaps": counted.pop("old_gaps", 0.0), "gap_seconds": counted.pop("old_gap_seconds", 0.0)}
    return Scrape(engine, chosen, counted if "gaps" in counted else counted | old)


def readings_between(
    scrapes: Sequence[Scrape],
) -> tuple[list[StepReading], list[PrefillReading]]:
    """Return the readings between each two scrapes; of a single one, since the engine started.

    Raises
    ------
    InputError
        If nothing was decoded in between, or the engine does not count its steps.
    """
    earlier: list[Scrape | None] = [None] if len(scrapes) == 1 else []
    steps, prefills = [], []
    for before, after in pairwise([*earlier, *scrapes]):
        if after is None:
            continue
        grown = after.since(before)
        if grown is None:
            continue
        counted = {name: grown.get(name, 0.0) for name in (*VLLM.values(), *SGLANG.values())}
        prefill = _prefill(counted)
        step = _step(counted, after, prefill)
        steps += [step] if step else []
        prefills += [prefill] if prefill else []
    if not steps:
        raise InputError(_nothing(scrapes[-1]))
    return steps, prefills


def _nothing(last: Scrape) -> Fault:
    """Return why there is no reading."""
    missing = [name for name in ("steps", "gaps") if not last.totals.get(name)]
    if missing:
        named = next(name for name, meaning in NAMES[last.engine].items() if meaning == missing[0])
        return Fault(f"has no {last.engine}:{named}", advice="use a version that counts it")
    advice = "measure while requests are answered, over a longer time"
    return Fault("counts hardly any steps in between", f"at least {LEAST_TOKENS}", advice)


def _prefill(counted: Mapping[str, float]) -> PrefillReading | None:
    """Return the mean prompt and what it took, without its wait in the queue."""
    if counted["prefills"] < 1 or counted["requests"] < 1:
        return None
    queue = counted["queue_seconds"] / counted["queued"] if counted["queued"] else 0.0
    seconds = counted["prefill_seconds"] / counted["prefills"] - queue
    tokens = counted["request_tokens"] / counted["requests"] * (1.0 - _cached_share(counted))
    return PrefillReading(tokens, 1000.0 * seconds) if seconds > 0 and tokens > 0 else None


def _cached_share(counted: Mapping[str, float]) -> float:
    prompts = counted["prompt_tokens"] or counted["request_tokens"]
    return min(counted["cached_tokens"] / prompts, 1.0) if prompts else 0.0


def _step(
    counted: Mapping[str, float], after: Scrape, prefill: PrefillReading | None
) -> StepReading | None:
    if counted["gaps"] < LEAST_TOKENS or counted["steps"] < LEAST_TOKENS:
        return None
    gap = 1000.0 * counted["gap_seconds"] / counted["gaps"]
    share = counted["prefills"] / counted["steps"]
    each = prefill.milliseconds if prefill else 0.0
    milliseconds = WITHOUT_PREFILLS[after.engine](gap, share, each)
    context = _context(counted) or _context(after.totals)
    if share > MOST_PREFILLS or milliseconds <= 0 or context is None:
        return None
    return StepReading(max(counted["gaps"] / counted["steps"], 1.0), context, milliseconds)


def _context(counted: Mapping[str, float]) -> float | None:
    """Return the mean tokens of a request half-way through its answer."""
    requests = counted.get("requests", 0.0)
    if requests < 1:
        return None
    return (counted.get("request_tokens", 0.0) + counted.get("output_tokens", 0.0) / 2) / requests


def _of_mixed_steps(gap: float, share: float, prefill: float) -> float:
    return (gap - share * prefill) / (1.0 - share) if share < 1.0 else 0.0


def _of_separate_steps(gap: float, share: float, prefill: float) -> float:
    return gap - share * prefill


WITHOUT_PREFILLS: dict[str, Callable[[float, float, float], float]] = {
    "vllm": _of_mixed_steps,
    "sglang": _of_separate_steps,
}
"""By engine: the milliseconds of a step from a gap between tokens, prefills a step, and theirs."""
