"""Engines on GPUs for tests of the law: drawn at random, or with figures that are easy to work."""

from dataclasses import replace

from hypothesis import strategies as st

from colocate import Gpu, Model, Problem
from colocate.latency.prediction import predict_placement
from colocate.problem.requests import EngineSpeed, Requests

KIND = "H200"
MODES = ("slices", "mps")


def requests(rate=1.0, tokens=101.0, step=5e-3, more=1e-4, prefill=0.02, **fields):
    """Return requests to an engine whose prefill is all work, on 32 layers."""
    layers, work = fields.pop("layers", 32.0), fields.pop("work", prefill)
    engine = EngineSpeed(step, more, prefill, work, layers)
    targets = {"tpot_slo": 0.1, "ttft_slo": 1.0, **fields}
    return Requests(rate, tokens, ((KIND, engine),), **targets)


def with_engine(stated, **fields):
    """Return requests to an engine that is faster or slower."""
    ((kind, engine),) = stated.engines
    return replace(stated, engines=((kind, replace(engine, **fields)),))


def on_gpus(*groups):
    """Return a problem with a GPU for every group of requests, and its placement."""
    gpus = [Gpu(f"g{number}", 140, KIND) for number in range(len(groups))]
    models, placement = [], {}
    for number, group in enumerate(groups):
        for stated in group:
            name = f"m{len(models)}"
            models.append(Model(name, 1.0, load=1.0, least_cache_gb=0.0, requests=stated))
            placement[name] = [f"g{number}"]
    return Problem(gpus, models), placement


def latencies(group, sharing):
    """Return what every engine of one GPU does beside the others."""
    problem, placement = on_gpus(group)
    return [each.shared for each in predict_placement(problem, placement, sharing)]


def milliseconds(least, most):
    return st.floats(least, most).map(lambda value: value / 1e3)


@st.composite
def drawn(draw):
    """Draw the requests to one engine: from idle ones to such that no GPU can answer."""
    prefill = draw(milliseconds(0.5, 200))
    return requests(
        draw(st.sampled_from([0.0, 0.01, 1.0]) | st.floats(0.0, 30.0)),
        draw(st.sampled_from([0.0, 1.0, 2.0]) | st.floats(1.0, 800.0)),
        draw(milliseconds(0.3, 50)),
        draw(milliseconds(0.0, 0.5)),
        prefill,
        work=prefill * draw(st.floats(0.05, 1.0)),
        layers=draw(st.integers(4, 96)),
        percentile=draw(st.sampled_from([None, 95.0, 99.0])),
        slots=draw(st.sampled_from([1.0, 16.0, 256.0])),
    )


groups = st.lists(drawn(), min_size=1, max_size=6)
modes = st.sampled_from(MODES)
