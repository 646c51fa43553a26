"""How a placement is simulated: what engines, routers and caches do."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.problem.sharing import SHARINGS, Sharing

Prefill = Literal["first", "chunked"]
Cache = Literal["blocks", "elastic"]
Router = Literal["round-robin", "least-requests", "random-two"]
ROUTERS: tuple[Router, ...] = get_args(Router)
TOKEN_BUDGET = 2048
"""Tokens of a step with pieces of prompts, as in vLLM where nothing else is stated."""
BLOCK_TOKENS = 16
"""Tokens of a block of cache, as in vLLM."""


@dataclass(frozen=True)
class EngineFailure:
    """An engine that fails, and comes back.

    Parameters
    ----------
    model, replica
        Which engine: the name of its model, and which of its replicas, from 0 on.
    time, seconds
        When it fails, and how long it is down.
    """

    model: str
    replica: int
    time: float
    seconds: float

    def __post_init__(self) -> None:
        for field in ("time", "seconds"):
            object.__setattr__(self, field, checked_number(getattr(self, field), (field,)))


@dataclass(frozen=True)
class SimulateOptions:
    """How engines work, share GPUs and are chosen.

    Parameters
    ----------
    prefill
        `first`: a prompt is read as soon as a slot is free, before further steps. `chunked`:
        prompts are read in pieces, beside the requests that decode.
    token_budget
        Tokens of a step with pieces of prompts.
    cache
        `blocks`: every engine has a cache of its own. `elastic`: the engines of a GPU share one.
    block_tokens
        Tokens of a block of cache.
    router
        How a replica is chosen: in turn, the one with the fewest requests, or that of two random
        ones.
    wake_seconds
        How long a sleeping model takes to wake for a request; None if nobody wakes it, and its
        requests are refused.
    idle_seconds
        How long a model that may sleep must have been idle before it makes room for another.
    sharing
        How engines share a GPU; None for the way that the problem states.
    failures
        Engines that fail.
    warm_up
        Seconds at the beginning that do not count.
    """

    prefill: Prefill = "first"
    token_budget: int = TOKEN_BUDGET
    cache: Cache = "blocks"
    block_tokens: int = BLOCK_TOKENS
    router: Router = "round-robin"
    wake_seconds: float | None = None
    idle_seconds: float = 0.0
    sharing: Sharing | None = None
    failures: tuple[EngineFailure, ...] = ()
    warm_up: float = 0.0

    def __post_init__(self) -> None:
        for field, known in (
            ("prefill", get_args(Prefill)),
            ("cache", get_args(Cache)),
            ("router", ROUTERS),
            ("sharing", (None, *SHARINGS)),
        ):
            if getattr(self, field) not in known:
                expected = " or ".join(str(name) for name in known if name)
                raise InputError.of(field, getattr(self, field), expected)
        for field, most in (("token_budget", inf), ("block_tokens", 4096)):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise InputError.of(field, value, "a whole number >= 1")
        for field in ("warm_up", "idle_seconds"):
            object.__setattr__(self, field, checked_number(getattr(self, field), (field,)))
        if self.wake_seconds is not None:
            wake = checked_number(self.wake_seconds, ("wake_seconds",))
            object.__setattr__(self, "wake_seconds", wake)
        object.__setattr__(self, "failures", tuple(sorted(self.failures, key=lambda f: f.time)))
