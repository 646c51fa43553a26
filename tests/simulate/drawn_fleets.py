"""Fleets and requests for tests of the simulator: with figures that are easy to work, or drawn."""

from dataclasses import replace

import numpy as np

from colocate import Gpu, Model, Problem
from colocate.problem.requests import EngineSpeed, Requests
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.options import EngineFailure, SimulateOptions
from colocate.simulate.run import simulate_placement

KIND = "H200"


def asked(step=0.01, more=0.0, prefill=0.02, work=None, layers=10.0, **fields):
    """Return requests to an engine; its mean prompt has 100 tokens, its mean output 50."""
    speed = EngineSpeed(step, more, prefill, prefill if work is None else work, layers)
    stated = {"rate": 1.0, "output_tokens": 50.0, "prompt_tokens": 100.0, **fields}
    return Requests(engines=((KIND, speed),), **stated)


def one_gpu(*requests, memory=100.0, **fields):
    """Return a problem with all models on one GPU, and its placement."""
    models = [Model(f"m{n}", 1.0, load=1.0, requests=each) for n, each in enumerate(requests)]
    problem = Problem([Gpu("g", memory, KIND)], models, **fields)
    return problem, {model.name: ["g"] for model in models}


def poisson(rates, seconds, seed=0, prompt=100, output=50, tail=0.0, exponential=False):
    """Return requests at random moments, to several models."""
    rng = np.random.default_rng(seed)
    arrivals = [np.sort(rng.uniform(0.0, seconds, rng.poisson(rate * seconds))) for rate in rates]
    model = np.repeat(np.arange(len(rates)), [len(times) for times in arrivals])
    arrival = np.concatenate(arrivals)
    order = np.argsort(arrival, kind="stable")
    count = len(arrival)
    outputs = np.full(count, output)
    prompts = np.full(count, prompt)
    if exponential:
        outputs = np.ceil(rng.exponential(output, count)).astype(int)
        prompts = np.ceil(rng.exponential(prompt, count)).astype(int)
    return RequestStream(arrival[order], model[order], prompts, outputs, seconds + tail)


def cut(stream, places):
    """Return a stream in pieces that end at some moments."""
    pieces, begin = [], 0
    for moment in [*sorted(places), stream.seconds]:
        end = int(np.searchsorted(stream.arrival, moment, side="right"))
        rows = slice(begin, max(end, begin))
        fields = (stream.arrival, stream.model, stream.prompt, stream.output)
        pieces.append(RequestStream(*(field[rows] for field in fields), moment))
        begin = max(end, begin)
    return pieces


def simulated(problem, placement, stream, **options):
    return simulate_placement(problem, placement, [stream], SimulateOptions(**options))


def simulate_once():
    """Run every kernel of the simulator once, so that they are compiled."""
    problem, placement = one_gpu(asked())
    failures = (EngineFailure("m0", 0, 0.1, 0.1),)
    simulated(problem, placement, poisson([1.0], 1.0), failures=failures)


def drawn_case(seed):
    """Return a random fleet, its placement, requests to it and options of every sort."""
    rng = np.random.default_rng(seed)
    memory = float(rng.choice([22.0, 40.0]))
    gpus = [Gpu(f"g{n}", memory, KIND, node="n") for n in range(int(rng.integers(1, 4)))]
    names = [gpu.name for gpu in gpus]
    models, placement, failures = [], {}, []
    sleeps = bool(rng.random() < 0.3)
    for number in range(int(rng.integers(1, 6))):
        shards = 2 if len(gpus) > 1 and rng.random() < 0.2 else 1
        replicas = int(rng.integers(1, len(gpus) // shards + 1))
        output = float(rng.choice([0.0, 1.0, 2.0, 30.0], p=[0.1, 0.1, 0.1, 0.7]))
        requests = asked(
            step=float(rng.choice([0.3, 2.0, 2.05, 9.0])) / 1e3,
            more=float(rng.choice([0.0, 0.1])) / 1e3,
            prefill=float(rng.choice([0.2, 3.0, 15.0])) / 1e3,
            layers=float(rng.integers(4, 40)),
            rate=float(rng.choice([0.3, 3.0, 10.0])),
            output_tokens=output,
            slots=float(rng.choice([1.0, 3.0, 64.0])),
            request_gb=float(rng.choice([0.0, 0.3, 3.0])),
            tpot_slo=0.02,
            ttft_slo=0.2,
        )
        requests = with_work(requests, float(rng.uniform(0.2, 1.0)))
        name = f"m{number}"
        asleep = sleeps and rng.random() < 0.5
        model = Model(
            name,
            float(rng.uniform(1.0, 4.0)) if not sleeps else 10.0,
            load=1.0,
            shards=shards,
            replicas=replicas,
            requests=requests,
            sleep_cost=1.0 if sleeps else None,
        )
        models.append(model)
        chosen = [names[n] for n in rng.permutation(len(gpus))[: shards * replicas]]
        placement[name] = [] if asleep else chosen
        if not asleep and rng.random() < 0.4:
            failures.append(
                EngineFailure(name, 0, float(rng.uniform(0, 8)), float(rng.uniform(0, 2)))
            )
    problem = Problem(gpus, models, sharing=str(rng.choice(["slices", "mps"])))
    seconds = 10.0
    streams = poisson(
        [model.requests.rate for model in models], seconds, seed, 100, 30, 500.0, exponential=True
    )
    outputs = np.where(
        np.array([model.requests.output_tokens for model in models])[streams.model] > 2.0,
        streams.output,
        np.array([model.requests.output_tokens for model in models])[streams.model],
    )
    stream = RequestStream(
        streams.arrival, streams.model, streams.prompt, outputs.astype(int), streams.seconds
    )
    options = SimulateOptions(
        prefill=str(rng.choice(["first", "chunked"])),
        token_budget=int(rng.choice([16, 128, 2048])),
        cache=str(rng.choice(["blocks", "elastic"])),
        block_tokens=int(rng.choice([1, 16])),
        router=str(rng.choice(["round-robin", "least-requests", "random-two"])),
        wake_seconds=float(rng.choice([0.0, 1.5])) if sleeps and rng.random() < 0.8 else None,
        idle_seconds=float(rng.choice([0.0, 1.0])),
        failures=tuple(failures),
    )
    return problem, placement, stream, options


def with_work(requests, share):
    """Return the requests with only so much of a prefill left to the GPU."""
    ((kind, speed),) = requests.engines
    return replace(requests, engines=((kind, replace(speed, prefill_work=speed.prefill * share)),))
