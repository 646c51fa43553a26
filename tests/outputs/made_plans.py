"""Plans of small and large fleets, and of fleets with names that nobody should have."""

from dataclasses import replace

from colocate.inputs.fleet import fleet_of
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.place import place
from colocate.solver.plan import Improvement, Plan, Status, with_ratios

HOSTILE = (
    "</script></style></title><script>document.title='taken'</script>",
    "\"><img src=http://taken.example/x onerror='document.title=1'>",
    "[bold]red[/bold] [link=https://taken.example]x[/link]",
    "$(reboot) `reboot`; ' \" & <!-- --> \u202e $x^2$ \\frac",
    "m" * 300,
    "two words " * 30,
)


def fleet_from(gpus, models, **fields):
    """Return a fleet whose GPUs are theirs to the last GB, unless they reserve some."""
    whole = [{"reserve_gb": 0, **gpu} for gpu in gpus]
    return fleet_of({"gpus": whole, "models": models, **fields})


def plan_of(fleet, placement=None, history=()):
    """Return the plan with that placement, or the greedy one."""
    if placement is None:
        return replace(place(fleet.problem), history=tuple(history))
    verdict = verify(fleet.problem, placement)
    assert verdict.valid, verdict.faults
    certificate = Certificate(Proof.SEARCH, verdict.pressure / 1.25, nodes=7)
    return Plan(
        fleet.problem,
        Status.FEASIBLE,
        Placement(placement),
        verdict.pressures,
        certificate=certificate,
        history=tuple(Improvement(*step) for step in history),
        strategy="solve",
        seconds=0.5,
    )


def small():
    """Two nodes, unequal GPUs, a reserve, a limit, replicas, shards, and a model asleep."""
    fleet = fleet_from(
        [
            {"name": "a", "node": "alpha", "kind": "big", "memory_gb": 80, "count": 2,
             "limits": {"slots": 4}},
            {"name": "b", "node": "beta", "kind": "little", "memory_gb": 40, "reserve_gb": 8},
        ],
        [
            {"name": "wide", "size_gb": 60, "load": 2, "shards": 2, "uses": {"slots": 1}},
            {"name": "hot", "size_gb": 16, "load": 3, "replicas": 2, "uses": {"slots": 2}},
            {"name": "dozing", "size_gb": 30, "rate": 4, "slo": 8, "may_sleep": True},
        ],
    )  # fmt: skip
    placement = {"wide": ("a-0", "a-1"), "hot": ("a-0", "b"), "dozing": ()}
    steps = [(0.001, 0.2, 0.05, "start"), (0.01, 0.1, 0.06, "search"), (0.1, 0.09375, 0.075, "x")]
    return fleet, plan_of(fleet, placement, steps)


def large():
    """A fleet of 512 GPUs and 2,000 models."""
    fleet = fleet_from(
        [{"name": f"n{n}", "node": f"node-{n}", "memory_gb": 80, "count": 8} for n in range(64)],
        [
            {"name": f"model-{n}", "size_gb": 2 + n * 7 % 23, "load": 1 + n * 13 % 17}
            for n in range(2000)
        ],
    )
    return fleet, plan_of(fleet)


def named(names):
    """A fleet of which all GPUs, nodes, kinds and models have such names."""
    fleet = fleet_from(
        [
            {"name": f"{n} {name}", "node": name, "kind": name, "memory_gb": 80}
            for n, name in enumerate(names)
        ],
        [
            {"name": f"{n} {name}", "size_gb": 10 + n, "load": 1 + n, "replicas": 1 + n % 2}
            for n, name in enumerate(names)
        ],
    )
    return fleet, plan_of(fleet)


STEPS = {"base_ms": 6.0, "per_request_ms": 0.1, "prefill_ms_per_1k_tokens": 20.0}


def asked(name, rate, **fields):
    """Return a model of a fleet file with tokens and measured constants."""
    known = {"prompt_tokens": 500, "output_tokens": 101, "kv_bytes_per_token": 1e5, "steps": STEPS}
    return {"name": name, "size_gb": 16, "rate": rate, "slo": 1, **known, **fields}


def latencies(sharing="slices", kind="H100-80GB", **fields):
    """Three GPUs: a pair in trouble, a saturated model, and one with a replica alone."""
    fleet = fleet_from(
        [{"name": "g", "kind": kind, "memory_gb": 80, "count": 3}],
        [
            asked("chat", 4, tpot_slo=0.02, replicas=2),
            asked("coder", 6, tpot_slo=0.015, ttft_slo=1.0, percentile=99),
            asked("flood", 500),
            asked("reader", 2, output_tokens=0),
        ],
        **{"sharing": sharing, "objective": "pressure", **fields},
    )
    placement = {"chat": ("g-0", "g-2"), "coder": ("g-0",), "flood": ("g-1",), "reader": ("g-1",)}
    verdict = verify(fleet.problem, placement)
    plan = Plan(
        fleet.problem,
        Status.FEASIBLE,
        Placement(placement),
        verdict.pressures or dict.fromkeys(("g-0", "g-1", "g-2"), 1.0),
        strategy="solve",
    )
    return fleet, with_ratios(plan)
