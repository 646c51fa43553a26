"""Figures of a reading, from what the loops recorded. Times are in milliseconds."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
from benchmarks.gpu.limits import CAPTURED
from benchmarks.gpu.loop import Record

LATE = 0.25
"""Requests that arrive in this first part of a reading find an engine that is still filling."""
DIGITS = 4

Figures = dict[str, object]


def summarise_open(record: Record, raw: bool) -> Figures:
    """Summarise an open loop; with `raw`, every request and step is in it too."""
    arrivals = record.schedule.arrivals
    outputs = record.schedule.outputs
    done = sorted(record.finished)
    tpots = [_tpot(record, number) for number in done]
    late = [_tpot(record, number) for number in done if arrivals[number] >= LATE * record.seconds]
    ttfts = [(record.first[number] - arrivals[number]) * 1000 for number in done]
    tokens = sum(outputs[number] - 1 for number in done)
    figures = {
        "busy": round(1 - sum(record.idle) / record.seconds, DIGITS),
        "arrived": len(arrivals),
        "finished": len(done),
        "unfinished": len(arrivals) - len(done),
        "mean_output_tokens": _mean(outputs),
        **_spread("tpot", tpots),
        "tpot_late_ms": _mean(late),
        "tpot_by_token_ms": round(
            sum(t * (outputs[n] - 1) for t, n in zip(tpots, done, strict=True)) / tokens, DIGITS
        )
        if tokens
        else None,
        **_spread("ttft", ttfts),
        **_ends(record),
        "steps": len(record.steps),
        "mean_batch": _mean(record.batches),
        **_spread("step", _ms(record.steps)),
        "step_by_graph": _by_graph(record),
        **_spread("prefill", _ms(record.prefills)),
        **_spread("mixed", _ms([seconds for *_, seconds in record.mixed])),
        "mixed_steps": len(record.mixed),
        "preemptions": len(record.sent_back),
    }
    if raw:
        figures["raw_requests_s"] = _requests(record)
        figures["raw_steps_ms"] = _rounded(_ms(record.steps))
        figures["raw_batches"] = record.batches
        figures["raw_mixed_ms"] = [
            [batch, tokens, round(seconds * 1000, DIGITS)]
            for batch, tokens, seconds in record.mixed
        ]
    return figures


def summarise_closed(times: list[float], raw: bool) -> Figures:
    """Summarise the seconds of acts that followed each other."""
    figures = {"acts": len(times), **_spread("act", _ms(times))}
    if times:
        inner = np.percentile(_ms(times), range(10, 100, 10))
        figures["act_deciles_ms"] = _rounded(inner.tolist())
        figures["act_least_ms"] = round(min(times) * 1000, DIGITS)
        figures["act_most_ms"] = round(max(times) * 1000, DIGITS)
    if raw:
        figures["raw_acts_ms"] = _rounded(_ms(times))
    return figures


def _tpot(record: Record, number: int) -> float:
    spent = record.finished[number] - record.first[number]
    return spent * 1000 / (record.schedule.outputs[number] - 1)


def _ends(record: Record) -> Figures:
    """Mean number of requests in a slot, and of those that wait for one."""
    end = record.seconds
    held = waited = 0.0
    for number, arrival in enumerate(record.schedule.arrivals):
        admitted = min(end, record.admitted.get(number, end))
        waited += admitted - arrival
        held += min(end, record.finished.get(number, end)) - admitted
    return {
        "mean_in_flight": round(held / end, DIGITS),
        "mean_waiting": round(waited / end, DIGITS),
    }


def _by_graph(record: Record) -> dict[str, list[float]]:
    """Count steps and take their mean time by the size of the graph that they ran in."""
    times = defaultdict(list)
    bounds = list(pairwise((0, *CAPTURED)))
    sizes = {batch: high for low, high in bounds for batch in range(low + 1, high + 1)}
    for batch, spent in zip(record.batches, record.steps, strict=True):
        times[sizes[batch]].append(spent * 1000)
    return {str(size): [len(times[size]), _mean(times[size])] for size in sorted(times)}


def _requests(record: Record) -> list[list[float | None]]:
    """Arrival, admission, first token, end, output tokens and preemptions of every request."""
    return [
        [
            round(arrival, 6),
            *(
                round(times[number], 6) if number in times else None
                for times in (record.admitted, record.first, record.finished)
            ),
            record.schedule.outputs[number],
            record.sent_back.count(number),
        ]
        for number, arrival in enumerate(record.schedule.arrivals)
    ]


def _spread(name: str, values: list[float]) -> Figures:
    """Mean and percentiles; none where there is nothing to take them of."""
    if not values:
        return {f"{name}_{suffix}": None for suffix in ("ms", "p50_ms", "p95_ms", "p99_ms")}
    middle, high, top = np.percentile(values, (50, 95, 99))
    return {
        f"{name}_ms": _mean(values),
        f"{name}_p50_ms": round(float(middle), DIGITS),
        f"{name}_p95_ms": round(float(high), DIGITS),
        f"{name}_p99_ms": round(float(top), DIGITS),
    }


def _mean(values: list[float]) -> float | None:
    return round(float(np.mean(values)), DIGITS) if values else None


def _ms(seconds: list[float]) -> list[float]:
    return [value * 1000 for value in seconds]


def _rounded(values: list[float]) -> list[float]:
    return [round(value, DIGITS) for value in values]
