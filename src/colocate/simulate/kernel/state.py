"""The state of a simulation as arrays, which kernels read and write.

A replica of a model is one engine. It has a part on each of its GPUs: one, or one for each shard.
All moments are seconds since the stream of requests began.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.problem.instance import Floats, Ints

Small = NDArray[np.int32]
NOBODY = -1
"""No request, part or engine."""

IDLE, PREFILL, STEP, MIXED = 0, 1, 2, 3
"""What an engine works on: nothing, one prompt, a decode step, or a step with pieces of prompts."""

MODEL, FIRST_PART, PARTS, SLOTS, WORK, RUNNING, HEAD, TAIL, WAITING = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Columns of engines, whole numbers: its model; its parts; requests at once; what it works on;
requests that decode; the first and the last of its queue, and how many are in it."""
STEPS, NEXT_FINISH, CURRENT, PENDING, BLOCK_BYTES, HELD, DOWN, JOINING, CHUNK = range(9, 18)
"""More of them: decode steps so far; the one after which a request is done; the request whose
prompt it reads; parts that still work; bytes of a block on each GPU; blocks in use; whether it is
down; requests whose prompts end with this step; tokens of prompts in this step."""
PREEMPTIONS, MOST_HELD, MAY_SLEEP, GROUP, ASLEEP, WEIGHTS, LEAST, LISTED, WOKEN = range(18, 27)
"""And: requests sent back to the queue; the most blocks ever in use; whether an idle one may make
room for others; its group of GPUs; whether it is on no GPU; bytes of its weights and least cache.
LISTED is no fact about the engine of a row: it is the engine at this place of the router's list,
in which those of a model stand one after the other. WOKEN counts how often a request woke it."""
ENGINE_INTS = 27
"""How many columns there are."""

STEP_TIME, PER_REQUEST, PREFILL_TIME, PREFILL_WORK, LAYERS, MEAN_PROMPT = range(6)
"""Columns of engines, in seconds: `EngineSpeed`, and the prompt in tokens that it is about."""
LENGTH, NEED, LEFT, PACE, SINCE, TURNS, TURN, ENDS = range(6, 14)
"""The work at hand: how long it takes alone, and what the GPU has to do of it. Under MPS: what is
left of it, its pace, the moment of both, its turns, the length of a turn, and its end."""
COUNTED, BUSY_TIME, IN_FLIGHT_TIME, WAITING_TIME, HELD_TIME, IDLE_SINCE, BACK = range(14, 21)
"""Sums over time up to the moment COUNTED; when it last became idle; when it comes back."""
ENGINE_FLOATS = 21
"""How many columns there are."""

PART_ENGINE, PART_GPU, PART_POOL = 0, 1, 2
"""Columns of parts: the engine, the GPU and the pool of cache."""
DONE, BEGUN = 0, 1
"""Columns of parts, in seconds, about the work at hand: what is done of it, and when it began."""
PART_FLOATS = 2
"""How many columns there are."""

RUNNING_PART, LAST_PART, READY_FIRST, READY, CONTENDED, COMPLETES, MEMBERS, ROOM = range(8)
"""Columns of GPUs, whole numbers: the part that has its turn; the one before; the first of those
that are ready in their ring, and how many; whether others wait for this turn; whether its work ends
with it; parts on it; bytes that no engine has."""
GPU_INTS = 8
"""How many columns there are."""
NEXT, TURN_BEGAN, TURN_ENDED, DONE_AFTER, PACE_OF_TURN = range(5)
GPU_COUNTED, GPU_BUSY, WIDTH, ALARM = range(5, 9)
"""Columns of GPUs, in seconds: its next event; the turn at hand; the end of the one before; what is
done at the end of the turn, and how fast; the moment up to which sums are, the time with work, and
the width of an interval of its timeline; the moment at which the first of its engines that are down
comes back."""
GPU_FLOATS = 9
"""How many columns there are."""
BUSY_ENGINES, IN_FLIGHT, QUEUED, CACHE_BYTES = 0, 1, 2, 3
"""What timelines are of: engines with work, requests in work and in queues, bytes of cache in
use."""
TIMELINES = 4
"""How many there are."""
INTERVALS = 600
"""Of a timeline: as many as a plot of usual width has pixels to show."""

PROMPT, OUTPUT, MADE, NEXT_REQUEST, JOINED, ENDS_AT, OF_MODEL, READ = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of requests: tokens of its prompt and output; those made before its last prefill; the
next one in its queue; the step of its engine at which it began to decode, and after which it is
done; its model; tokens of its prompt that have been read, in pieces."""
REQUEST_INTS = 8
"""How many columns there are."""
ARRIVAL, FIRST_TOKEN = 0, 1
"""Columns of requests, in seconds; a first token that is not there yet is negative."""

ARRIVED, FINISHED, REFUSED, ATTAINED, TOKENS_IN, TOKENS_OUT, ENGINES, FIRST_ENGINE, ROUND = range(9)
"""Columns of models, whole numbers: counts of requests; of those that kept all targets; tokens
read and made of finished ones; how many engines the router has for it, and where they begin in its
list; the next one by turns, or the state of its random numbers."""
MODEL_INTS = 9
"""How many columns there are."""
TPOT_SLO, TTFT_SLO = 0, 1
"""Columns of models: the targets in seconds."""
TTFT, TPOT, END_TO_END = 0, 1, 2
"""What is measured of each request."""

FREE, CAPACITY, LEAST_FREE, LARGEST = 0, 1, 2, 3
"""Columns of pools, in bytes; LARGEST is the largest capacity so far."""
POOL_COLUMNS = 4
"""How many columns there are."""

SHARING, CHUNKED, BUDGET, ELASTIC, BLOCK, ROUTER, FREE_REQUEST, WAKES = 0, 1, 2, 3, 4, 5, 6, 7
"""Settings: how GPUs are shared; whether prompts are cut into pieces, and tokens of a step; whether
engines of a GPU have one pool; tokens of a block; the router; the first unused row of requests;
whether sleeping models can be woken."""
SETTINGS = 8
"""How many there are."""
SLICES, SIDE_BY_SIDE = 0, 1
"""Ways to share a GPU: by turns, or all at once."""
ROUND_ROBIN, LEAST_REQUESTS, RANDOM_TWO = 0, 1, 2
"""Ways to choose a replica."""
WARM_UP, WAKE_SECONDS, IDLE_SECONDS = 0, 1, 2
"""Moments and spans: before which nothing counts; that waking takes; that an engine must have been
idle for before it makes room."""


class SimulationState(NamedTuple):
    """All arrays of a simulation."""

    engines: Ints
    speeds: Floats
    """The columns of engines that are no whole numbers."""
    slots: Small
    """slots[e, n]: the requests that an engine decodes, oldest first."""
    growing: Small
    """growing[e, n]: how many of them need one more block at steps n, n + a block, ..."""
    parts: Ints
    progress: Floats
    """The columns of parts that are no whole numbers."""
    gpus: Ints
    moments: Floats
    """The columns of GPUs that are no whole numbers."""
    ready: Ints
    """ready[g, n]: a ring of parts that wait for their turn."""
    members: Ints
    """members[g, n]: the parts on a GPU."""
    now: Floats
    """now[g, TIMELINES]: what timelines are of, at the moment."""
    timelines: Floats
    """timelines[g, INTERVALS, TIMELINES]: sums over time."""
    pools: Ints
    requests: Ints
    times: Floats
    """The columns of requests that are moments."""
    models: Ints
    targets: Floats
    counts: Ints
    """counts[m, 3, n]: histograms of what is measured."""
    sums: Floats
    """sums[m, 3, 2]: the sum and the largest of it."""
    groups: Ints
    """groups[n]: the GPUs of all groups that are joined by shards, one group after the other."""
    first_of_group: Ints
    elsewhere: Floats
    """elsewhere[e, g, n]: the speeds of engines that may be woken, on all GPUs; no layers where one
    may not be."""
    settings: Ints
    spans: Floats
    sharing: Floats
    """The constants of the law, for engines side by side."""
