"""The process of one engine: it starts once, then takes commands until it is told to leave."""

import gc
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from multiprocessing.connection import Connection
from statistics import mean, median
from time import perf_counter

from benchmarks.gpu.ledger import Ledger
from benchmarks.gpu.limits import CAPTURED
from benchmarks.gpu.loop import Record, run_closed, run_open
from benchmarks.gpu.plan import Member
from benchmarks.gpu.pooled_loop import Piece, Work, run_pooled
from benchmarks.gpu.schedule import draw_schedule
from benchmarks.gpu.shapes import SHAPES
from benchmarks.gpu.summary import summarise_closed, summarise_open

LONE_CONTEXTS = (640, 1024)
LONE_PROMPTS = (128, 512, 1024, 2048, 4096, 8192, 16384)
LONE_STEPS = 30
LONE_PREFILLS = 12
WARM_UPS = 3
LONE_WARM_UPS = 40
DEFAULT_CONTEXT = Member.context

Answer = dict[str, object]
Loop = Callable[[float], Answer]


def serve(connection: Connection, model: str, device: str) -> None:
    """Build the engine, say so, and answer commands; every failure is an answer too."""
    import torch  # noqa: PLC0415 - the controller reads this file and needs no torch
    from benchmarks.gpu.engine import Engine  # noqa: PLC0415

    torch.set_num_threads(1)
    begin = perf_counter()
    with torch.inference_mode():
        try:
            engine = Engine(SHAPES[model], device)
            engine.stepper(DEFAULT_CONTEXT)
            desk = Desk(engine)
            connection.send(_introduction(torch, device, perf_counter() - begin))
        except Exception:
            connection.send({"error": traceback.format_exc()})
            return
        gc.collect()
        gc.freeze()
        while (command := _next(connection))["do"] != "leave":
            connection.send(desk.answer(command))
        if device == "cuda":
            torch.cuda.synchronize()


def _next(connection: Connection) -> Mapping:
    """Wait for a command; a controller that is gone wants all to leave."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return {"do": "leave"}


def _introduction(torch: object, device: str, seconds: float) -> Answer:
    facts: Answer = {"pid": os.getpid(), "torch": torch.__version__, "built_s": round(seconds, 1)}
    if device == "cuda":
        facts["gpu"] = torch.cuda.get_device_name()
        facts["held_gb"] = round(torch.cuda.memory_reserved() / 1e9, 2)
    return facts


class Desk:
    """Takes commands for an engine."""

    def __init__(self, engine: object) -> None:
        self.engine = engine
        self._loop: Loop | None = None

    def answer(self, command: Mapping) -> Answer:
        """Do what is asked: `prepare` a loop, `go` with it, or `lone` steps."""
        try:
            gc.collect()
            gc.disable()
            if command["do"] == "prepare":
                return self._prepare(command)
            if command["do"] == "go":
                return self._loop(command["start"])
            return read_alone(self.engine)
        except Exception:
            return {"error": traceback.format_exc()}
        finally:
            gc.enable()

    def _prepare(self, command: Mapping) -> Answer:
        """Capture, warm up and draw all that the loop needs, so that it only runs."""
        member, seconds = Member(**command["member"]), command["seconds"]
        if member.closed is None:
            self._loop = self._open(member, seconds, command["seed"])
            return {}
        act, facts = self._act(member)
        for _ in range(WARM_UPS):
            act()

        def loop(start: float) -> Answer:
            return facts | summarise_closed(run_closed(act, start, seconds), member.raw)

        self._loop = loop
        return {}

    def _open(self, member: Member, seconds: float, seed: list[int]) -> Loop:
        step, prefill = self.engine.stepper(member.context), self.engine.prefill
        for _ in range(WARM_UPS):
            prefill(member.prompt_tokens, 0)
            step(1)
        schedule = draw_schedule(seed, member.rate, seconds, member.output_tokens)
        if member.blocks is not None:
            return self._pooled(member, step, Record(schedule, seconds))

        def loop(start: float) -> Answer:
            record = Record(schedule, seconds)
            run_open(step, prefill, record, start, member.slots, member.prompt_tokens)
            return summarise_open(record, member.raw)

        return loop

    def _pooled(self, member: Member, step: Callable[[int], None], record: Record) -> Loop:
        """Return the loop of an engine whose cache is a pool of blocks."""
        engine, prompt, slots = self.engine, member.prompt_tokens, member.slots

        def mixed(batch: int, pieces: Sequence[Piece]) -> None:
            engine.mixed(batch, pieces, member.context)

        if member.token_budget:
            for batch, before, tokens in product(
                (0, 1, 8), (0, prompt // 2), (prompt // 2, prompt)
            ):
                mixed(batch, [Piece(batch, before, min(tokens, member.token_budget))])
        ledger = Ledger(member.blocks, slots, prompt, record.schedule.outputs)
        work = Work(step, engine.prefill, mixed)

        def loop(start: float) -> Answer:
            run_pooled(work, record, start, ledger, member.token_budget)
            figures = summarise_open(record, member.raw)
            return figures | {"least_free_blocks": ledger.least_free}

        return loop

    def _act(self, member: Member) -> tuple[Callable[[], None], Answer]:
        engine = self.engine
        if member.closed == "burst":
            run, alone = engine.burst(member.ms)
            return run, {"alone_ms": round(alone, 4)}
        if member.closed == "prefill":
            return lambda: engine.prefill(member.tokens, 0), {}
        if member.closed == "mixed":
            pieces = [Piece(member.batch, 0, member.tokens)]
            return lambda: engine.mixed(member.batch, pieces, member.context), {}
        step = engine.stepper(member.context)
        return lambda: step(member.batch), {}


def read_alone(engine: object) -> Answer:
    """Time a lone engine's steps by batch and context, and its prefills by tokens."""
    rows = []
    _times(lambda: engine.prefill(LONE_PROMPTS[0], 0), LONE_WARM_UPS)  # brings the clocks up
    for context in LONE_CONTEXTS:
        step = engine.stepper(context)
        for batch in CAPTURED:
            times = _times(lambda batch=batch, step=step: step(batch), LONE_STEPS)
            rows.append(_row("decode", batch, context, times))
    for tokens in LONE_PROMPTS:
        times = _times(lambda tokens=tokens: engine.prefill(tokens, 0), LONE_PREFILLS)
        rows.append(_row("prefill", 1, tokens, times))
    return {"rows": rows}


def _times(act: Callable[[], None], count: int) -> list[float]:
    for _ in range(WARM_UPS):
        act()
    times = []
    for _ in range(count):
        begin = perf_counter()
        act()
        times.append((perf_counter() - begin) * 1000)
    return times


def _row(kind: str, batch: int, tokens: int, times: list[float]) -> Answer:
    return {
        "kind": kind,
        "batch": batch,
        "tokens": tokens,
        "ms": round(mean(times), 4),
        "median_ms": round(median(times), 4),
    }
