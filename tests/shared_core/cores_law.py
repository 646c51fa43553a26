"""What engines that take fair turns on one core do to each other, from their constants alone.

This is the law of `colocate.latency` for turns so short that only their share counts: an engine is
slowed down by 1 + the chance that the other one is busy.
"""

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True)
class Load:
    """Requests a second, words of a prompt and tokens of an answer."""

    rate: float
    words: int = 16
    tokens: int = 32


@dataclass(frozen=True)
class Felt:
    """Mean TPOT and TTFT in ms, and the chance to be busy."""

    tpot: float
    ttft: float
    busy: float = 0.0


def beside(constants, load, other_busy):
    """Return what users feel of an engine beside another one that is so busy."""
    slower = 1 + other_busy
    rate = load.rate / 1000
    prompt = constants["prefill_ms_per_1k_tokens"] * load.words / 1000
    prefill = slower * (constants["prefill_base_ms"] + prompt)
    context = (load.words + load.tokens / 2) / 1000
    each = constants["per_request_ms"] + constants["per_1k_context_ms"] * context
    steps = load.tokens - 1
    tpot = 0.0
    for _ in range(1000):
        step = slower * (constants["base_ms"] + each * (1 + rate * steps * tpot))
        tpot = step + prefill * rate * tpot
    busy = 1 - exp(-rate * (steps * tpot + prefill))
    decoding, reading = 1 - exp(-rate * steps * tpot), rate * prefill
    wait = (decoding * step + reading * prefill) / 2 / (1 - reading)
    return Felt(tpot, prefill + wait, busy)


def predicted(constants, loads):
    """Return what users of two engines feel that share a core; a load of None is an idle one."""
    busy = [0.0, 0.0]
    felt = [None, None]
    for _ in range(200):
        for own, other in ((0, 1), (1, 0)):
            if loads[own] is not None:
                felt[own] = beside(constants[own], loads[own], busy[other])
                busy[own] = felt[own].busy
    return felt
