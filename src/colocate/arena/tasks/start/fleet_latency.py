"""The program that evolution starts from: busiest model first, to the GPU it slows down least."""

from math import exp, inf, log
from typing import Any

# EVOLVE-BLOCK-START
SLICE, READ_SLICE, PART, SWITCH = 0.002, 0.0023, 0.4, 0.0003
PADDED, SLOTS = 1.2, 256.0


def turns(seconds: float, slice_: float) -> float:
    """Return how many turns on the GPU some work takes."""
    return max(1.0, seconds / slice_ + PART)


def engine_of(model: dict[str, Any], kind: str) -> dict[str, float]:
    """Return the numbers of a model on a kind of GPU; steps make all tokens but the first."""
    numbers = {"rate": model["rate"], "tokens": model["output_tokens"] - 1}
    return {**numbers, "target": model["target_s"], **model["engines"][kind]}


def meeting(start: float, slope: float) -> float:
    """Return the t with `t = start + slope t`; infinite if there is none."""
    return start / (1 - slope) if slope < 1 else inf


def slowed(engine: dict[str, float], for_step: float, for_work: float) -> dict[str, float]:
    """Return what an engine becomes if each turn of a step, and of a prefill, waits so long."""
    rate, tokens, each = engine["rate"], engine["tokens"], engine["request_s"]
    prefill = engine["prefill_s"] + turns(engine["work_s"], READ_SLICE) * for_work
    first, growth = engine["step_s"] + each, each * PADDED * rate * tokens
    longer = 1 + for_step / SLICE
    token = max(
        meeting(first + for_step, growth + rate * prefill),
        meeting(first * longer + PART * for_step, growth * longer + rate * prefill),
    )
    full = engine["step_s"] + each * SLOTS
    token = min(token, full + turns(full, SLICE) * for_step + prefill * SLOTS / tokens)
    step = engine["step_s"] + each * min(1 + PADDED * rate * tokens * token, SLOTS)
    step_turn = step / turns(step, SLICE)
    read_turn = engine["work_s"] / turns(engine["work_s"], SLICE)
    return {
        "token": token,
        "prefill": prefill,
        "step": step + turns(step, SLICE) * for_step,
        "busy": 1 - exp(-rate * (tokens * token + prefill)),
        "reading": min(rate * prefill, 1.0),
        "step_turn": step_turn,
        "work_turn": engine["work_s"] / turns(engine["work_s"], READ_SLICE),
        "for_step": step_turn + SWITCH,
        "for_read": max(step_turn, read_turn) + SWITCH,
    }


def wait(turn: float, other: dict[str, float]) -> float:
    """Return how long a turn waits for another engine, which makes steps or reads prompts."""
    if turn <= 0:
        return 0.0
    short, long, reading = other["for_step"], other["for_read"], other["reading"]
    mean = 1 / ((1 - reading) / (turn + short) + reading / (turn + long))
    return other["busy"] * (mean - turn)


def time_of_token(engine: dict[str, float], state: dict[str, float]) -> float:
    """Return the mean time of an output token; infinite if the queue grows."""
    rate, tokens, prefill = engine["rate"], engine["tokens"], state["prefill"]
    reading = rate * prefill
    if reading >= 1 or rate * (tokens * state["token"] + prefill) >= SLOTS:
        return inf
    decoding = 1 - exp(-rate * tokens * state["token"])
    queue = (decoding * state["step"] + reading * prefill / (1 - reading)) / 2
    arrived = min(rate * (prefill + queue) / (1 - reading), SLOTS)
    return state["token"] + log(tokens) / (tokens - 1) * arrived * prefill


def worst_ratio(gpu: dict[str, Any], models: list[dict[str, Any]]) -> float:
    """Return the worst time of a token over its target on a GPU; infinite without room."""
    if sum(model["size_gb"] for model in models) > gpu["memory_gb"]:
        return inf
    engines = [engine_of(model, gpu["kind"]) for model in models]
    waits = [(0.0, 0.0)] * len(engines)
    for _ in range(1000):
        states = [slowed(engine, *own) for engine, own in zip(engines, waits, strict=True)]
        before = waits
        waits = [
            (
                sum(wait(state["step_turn"], other) for other in states if other is not state),
                sum(wait(state["work_turn"], other) for other in states if other is not state),
            )
            for state in states
        ]
        if all(abs(a - b) <= 1e-7 * a for new, old in zip(waits, before, strict=True)
               for a, b in zip(new, old, strict=True)):  # fmt: skip
            break
    states = [slowed(engine, *own) for engine, own in zip(engines, waits, strict=True)]
    pairs = zip(engines, states, strict=True)
    return max((time_of_token(e, s) / e["target"] for e, s in pairs), default=0.0)


def place_models(gpus: list[dict[str, Any]], models: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name of a GPU for the name of every model."""
    on: dict[str, list[dict[str, Any]]] = {gpu["name"]: [] for gpu in gpus}
    found = {}
    for model in sorted(models, key=lambda model: model["size_gb"] * model["rate"], reverse=True):
        best = min(gpus, key=lambda gpu: worst_ratio(gpu, [*on[gpu["name"]], model]))
        on[best["name"]].append(model)
        found[model["name"]] = best["name"]
    return found


# EVOLVE-BLOCK-END
