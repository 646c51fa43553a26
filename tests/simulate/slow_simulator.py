"""A second simulator, slow and plain, to hold the fast one against.

It knows engines beside each other (MPS) and engines that do not share (`alone`), prompts first or
in pieces, caches of their own or one for all on a GPU, and shards in step. It shares no code with
the fast one but the law's three formulas of turns. Requests are objects with all of their times,
and after every event it looks at everything again.
"""

from collections import deque
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np

from colocate.latency.law import seen_turn, turn_of, turns
from colocate.problem.cache import caches_of
from colocate.problem.sharing import COSTS, OF_LAYERS

LAW_BLOCK = 16


@dataclass(eq=False)
class Asked:
    """A request, and what became of it."""

    model: int
    arrival: float
    prompt: int
    output: int
    made: int = 0
    kept: int = 0
    """Tokens in the cache."""
    blocks: int = 0
    read: int = 0
    """Tokens read since it was admitted last."""
    first: float = inf
    done: float = inf
    refused: bool = False

    @property
    def to_read(self):
        return self.prompt + self.made


@dataclass(eq=False)
class Pool:
    """Bytes of cache."""

    size: int
    free: int


@dataclass(eq=False)
class Worker:
    """An engine."""

    speed: object
    mean_prompt: float
    slots: int
    block_bytes: int
    gpus: list
    pools: list
    queue: deque = field(default_factory=deque)
    running: list = field(default_factory=list)
    reading: Asked | None = None
    joining: list = field(default_factory=list)
    busy: bool = False
    decodes: bool = False
    length: float = 0.0
    work: float = 0.0
    left: float = 0.0
    sent_back: int = 0


class SlowSimulator:
    """Replays requests on a placement, one event after the other.

    Parameters
    ----------
    problem, placement : what is simulated, with one replica a model
    options : as for the fast one; no failures, and nobody sleeps
    """

    def __init__(self, problem, placement, options):
        self.options = options
        sharing = options.sharing or problem.sharing
        assert sharing in ("mps", "alone")
        self.costs = np.array(COSTS[sharing])
        self.shares = self.costs[OF_LAYERS] > 0.0
        memory = {gpu.name: gpu.memory_gb * 1e9 for gpu in problem.gpus}
        for model in problem.models:
            for gpu in placement[model.name]:
                memory[gpu] -= int(model.size_gb / model.shards * 1e9)
        common = {name: Pool(int(size), int(size)) for name, size in memory.items()}
        own = {cache.model: int(cache.cache_gb * 1e9) for cache in caches_of(problem, placement)}
        kinds = {gpu.name: gpu.kind for gpu in problem.gpus}
        self.workers = []
        for model in problem.models:
            gpus, asked = list(placement[model.name]), model.requests
            speed = dict(asked.engines)[kinds[gpus[0]]]
            mean = ceil(asked.prompt_tokens + asked.output_tokens)
            blocks = ceil(mean / LAW_BLOCK) + 1
            token = asked.request_gb * 1e9 / (blocks * LAW_BLOCK)
            bytes_ = ceil(token * options.block_tokens) if mean else 0
            pools = (
                [common[gpu] for gpu in gpus]
                if options.cache == "elastic"
                else [Pool(own[model.name], own[model.name]) for _ in gpus]
            )
            slots = int(asked.slots)
            each = int(bytes_ / model.shards)
            self.workers.append(Worker(speed, asked.prompt_tokens, slots, each, gpus, pools))
        self.requests = []

    def blocks(self, tokens):
        return ceil(tokens / self.options.block_tokens)

    def run(self, stream):
        """Replay a stream to its end; return all requests."""
        coming = deque(
            Asked(int(model), float(arrival), int(prompt), int(output))
            for arrival, model, prompt, output in zip(
                stream.arrival, stream.model, stream.prompt, stream.output, strict=True
            )
        )
        self.requests = list(coming)
        now = 0.0
        while True:
            ends = {id(w): now + w.left / self.pace(w) for w in self.workers if w.busy}
            first = min(ends.values(), default=inf)
            arrival = coming[0].arrival if coming else inf
            then = min(first, arrival)
            if then > stream.seconds:
                return self.requests
            for worker in self.workers:
                if worker.busy:
                    pace = self.pace(worker)
                    worker.left = 0.0 if ends[id(worker)] <= then else worker.left
                    if worker.left:
                        worker.left -= pace * (then - now)
            now = then
            if first <= arrival:
                done = min((w for w in self.workers if w.busy), key=lambda w: ends[id(w)])
                self.end(done, now)
                self.begin(done)
                if self.options.cache == "elastic":
                    for other in self.workers:
                        near = set(other.gpus) & set(done.gpus)
                        if near and not other.busy and other.queue:
                            self.begin(other)
            else:
                self.arrive(coming.popleft())

    def pace(self, worker):
        """Return how fast it works beside the others, as a share of alone."""
        count = turns(worker.work, worker.speed.layers, self.costs)
        if worker.length <= 0.0 or count <= 0.0 or not self.shares:
            return 1.0
        waits = []
        for gpu in worker.gpus:
            others = [w for w in self.workers if w is not worker and w.busy and gpu in w.gpus]
            lengths = [turn_of(w.work, w.speed.layers, self.costs) for w in others]
            own = worker.work / count
            waits.append(sum(seen_turn(each, own, self.costs) for each in lengths if each > 0.0))
        return worker.length / (worker.length + count * max(waits))

    def arrive(self, request):
        worker = self.workers[request.model]
        most = self.blocks(request.prompt + max(request.output - 1, 0)) * worker.block_bytes
        if any(most > pool.size for pool in worker.pools):
            request.refused = True
            return
        worker.queue.append(request)
        if not worker.busy:
            self.begin(worker)

    def take(self, worker, request, tokens):
        """Give a request the blocks for so many tokens; False where they are not there."""
        more = self.blocks(tokens) - request.blocks
        if any(more * worker.block_bytes > pool.free for pool in worker.pools):
            return False
        self.change(worker, request, more)
        request.kept = tokens
        return True

    def change(self, worker, request, more):
        request.blocks += more
        for pool in worker.pools:
            pool.free -= more * worker.block_bytes
            assert 0 <= pool.free <= pool.size

    def admit(self, worker):
        used = len(worker.running) + len(worker.joining)
        if not worker.queue or used >= worker.slots:
            return None
        if not self.take(worker, worker.queue[0], worker.queue[0].to_read):
            return None
        request = worker.queue.popleft()
        request.read = 0
        return request

    def grow(self, worker):
        """Give every request that decodes room for its next token, or send the last ones back."""
        while True:
            more = [self.blocks(each.kept + 1) - each.blocks for each in worker.running]
            if all(sum(more) * worker.block_bytes <= pool.free for pool in worker.pools):
                break
            last, worker.reading = worker.reading or worker.running.pop(), None
            self.change(worker, last, -last.blocks)
            worker.queue.appendleft(last)
            worker.sent_back += 1
        for request in worker.running:
            assert self.take(worker, request, request.kept + 1)

    def begin(self, worker):
        """Let an engine without work choose some."""
        worker.busy = worker.decodes = False
        chunk = 0
        if self.options.prefill == "first":
            worker.reading = self.admit(worker)
            if worker.reading:
                whole, work = self.prefill(worker, worker.reading.to_read)
                self.set_out(worker, whole, work)
                return
            self.grow(worker)
        else:
            self.grow(worker)
            chunk = self.chunk(worker)
        batch = len(worker.running)
        if not batch and not chunk:
            return
        base = worker.speed.step if batch else 0.0
        whole, work = self.prefill(worker, chunk) if chunk else (0.0, 0.0)
        more = worker.speed.step_per_request * next(
            size for size in (0, 1, 2, 4, *range(8, 10**5, 8)) if size >= batch
        )
        worker.decodes = True
        self.set_out(worker, max(base, whole) + more, max(base, work) + more)

    def chunk(self, worker):
        """Return how many tokens of prompts the next step reads."""
        left, read = max(self.options.token_budget - len(worker.running), 1), 0
        while left:
            worker.reading = worker.reading or self.admit(worker)
            request = worker.reading
            if request is None:
                break
            piece = min(left, request.to_read - request.read)
            request.read += piece
            read, left = read + piece, left - piece
            if request.read == request.to_read:
                worker.joining.append(request)
                worker.reading = None
        return read

    def prefill(self, worker, tokens):
        host = worker.speed.prefill - worker.speed.prefill_work
        work = worker.speed.prefill_work * tokens / worker.mean_prompt
        return work + host, work

    def set_out(self, worker, length, work):
        worker.busy, worker.length, worker.work, worker.left = True, length, work, length

    def end(self, worker, now):
        """Let an engine end its work: tokens are there."""
        worker.busy = False
        if worker.decodes:
            for request in list(worker.running):
                self.token(worker, request, now)
            new, worker.joining = worker.joining, []
        else:
            new, worker.reading = [worker.reading], None
        for request in new:
            request.first = min(request.first, now)
            worker.running.append(request)
            self.token(worker, request, now)

    def token(self, worker, request, now):
        request.made += 1
        if request.made >= request.output:
            request.done = now
            worker.running.remove(request)
            self.change(worker, request, -request.blocks)
