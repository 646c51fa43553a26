"""A second simulator, slow and plain, to hold the fast one against.

It knows engines that take turns (slices), engines beside each other (MPS) and engines that do not
share (`alone`), prompts first or in pieces, caches of their own or one for all on a GPU, shards in
step and replicas behind routers. It shares no code with the fast one but the constants of sharing
and the law's three formulas of turns. Requests are objects with all of their times, and after every
event it looks at everything again.
"""

from collections import deque
from dataclasses import dataclass, field
from math import ceil, inf

from colocate.problem.cache import caches_of
from colocate.problem.sharing import HOST_GAP, PREFILL_AHEAD
from tests.simulate.slow_router import router
from tests.simulate.slow_sharing import SideBySide, Slices

LAW_BLOCK = 16
LEAST_WORK = 1e-4
"""Of a prompt, the GPU's share under time slices."""


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

    model: int
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
    reads: bool = False
    length: float = 0.0
    work: float = 0.0
    sent_back: int = 0

    @property
    def requests(self):
        return len(self.queue) + len(self.running) + len(self.joining) + bool(self.reading)


class SlowSimulator:
    """Replays requests on a placement, one event after the other.

    Parameters
    ----------
    problem, placement : what is simulated
    options, seed : as for the fast one; no failures, and nobody sleeps
    """

    def __init__(self, problem, placement, options, seed=0):
        self.options = options
        sharing = options.sharing or problem.sharing
        self.by_turns = sharing == "slices"
        memory = {gpu.name: gpu.memory_gb * 1e9 for gpu in problem.gpus}
        for model in problem.models:
            for gpu in placement[model.name]:
                memory[gpu] -= int(model.size_gb / model.shards * 1e9)
        common = {name: Pool(int(size), int(size)) for name, size in memory.items()}
        self.kinds = {gpu.name: gpu.kind for gpu in problem.gpus}
        self.workers = []
        for cache in caches_of(problem, placement):
            own = int(cache.cache_gb * 1e9)
            elastic = options.cache == "elastic"
            pools = [common[gpu] if elastic else Pool(own, own) for gpu in cache.gpus]
            number = [model.name for model in problem.models].index(cache.model)
            self.workers.append(self.worker(number, problem.models[number], cache.gpus, pools))
        self.routers = []
        for number in range(len(problem.models)):
            mine = [worker for worker in self.workers if worker.model == number]
            self.routers.append(router(options.router, mine, seed, number))
        self.sharing = Slices(self.kinds) if self.by_turns else SideBySide(sharing, self.workers)
        self.requests = []

    def worker(self, number, model, gpus, pools):
        """Return a replica of a model on its GPUs."""
        asked = model.requests
        mean = ceil(asked.prompt_tokens + asked.output_tokens)
        blocks = ceil(mean / LAW_BLOCK) + 1
        token = asked.request_gb * 1e9 / (blocks * LAW_BLOCK)
        bytes_ = ceil(token * self.options.block_tokens) if mean else 0
        speed = dict(asked.engines)[self.kinds[gpus[0]]]
        each = int(bytes_ / model.shards)
        slots = int(asked.slots)
        return Worker(number, speed, asked.prompt_tokens, slots, each, list(gpus), pools)

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
        while True:
            first = self.sharing.next()
            arrival = coming[0].arrival if coming else inf
            now = min(first, arrival)
            if now > stream.seconds:
                return self.requests
            self.sharing.go_on(now)
            if arrival < first:
                self.arrive(coming.popleft(), now)
                continue
            done = self.sharing.happen()
            if done is not None:
                self.complete(done, now)
            self.sharing.hand_over()

    def complete(self, worker, now):
        """Let a worker end its work and begin the next; others may get cache that is free now."""
        self.end(worker, now)
        self.begin(worker, now)
        if self.options.cache == "elastic":
            for gpu in worker.gpus:
                for other in self.workers:
                    if gpu in other.gpus and not other.busy and other.queue:
                        self.begin(other, now)

    def arrive(self, request, now):
        worker = self.routers[request.model].choose()
        most = self.blocks(request.prompt + max(request.output - 1, 0)) * worker.block_bytes
        if any(most > pool.size for pool in worker.pools):
            request.refused = True
            return
        worker.queue.append(request)
        if not worker.busy:
            self.begin(worker, now)

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

    def begin(self, worker, now):
        """Let an engine without work choose some."""
        worker.busy = worker.decodes = worker.reads = False
        chunk = 0
        if self.options.prefill == "first":
            worker.reading = self.admit(worker)
            if worker.reading:
                worker.reads = True
                whole, work = self.prefill(worker, worker.reading.to_read)
                self.set_out(worker, whole, work, now)
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
        worker.decodes, worker.reads = True, chunk > 0
        length = max(base, whole) + more
        gap = min(HOST_GAP, length) if self.by_turns and not chunk else 0.0
        self.set_out(worker, length, max(base, work) + more - gap, now)

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
        whole = work + host
        if self.by_turns:
            work = min(max(work, whole * LEAST_WORK), whole / PREFILL_AHEAD)
        return whole, work

    def set_out(self, worker, length, work, now):
        worker.busy, worker.length, worker.work = True, length, work
        self.sharing.set_out(worker, now)

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
