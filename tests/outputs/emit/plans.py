"""Plans that were made by hand, for the targets to start."""

from pathlib import Path

from colocate.inputs.fleet import parse_fleet
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.plan import Plan, Status

DATA = Path(__file__).parents[2] / "data" / "emit"
PLACEMENT = {
    "llama-3.1-70b": ["a-1", "a-0"],
    "llama-3.1-8b": ["a-2", "a-0", "b-0"],
    "Qwen/Qwen2.5-7B-Instruct": ["a-2"],
    "embedder": ["b-0"],
    "canary": ["b-1"],
    "qwen2.5-32b": [],
}


def plan_of(text, placement):
    """Return a plan and its fleet; the placement is a valid one."""
    fleet = parse_fleet(text)
    verdict = verify(fleet.problem, placement)
    assert verdict.valid, verdict.faults
    plan = Plan(fleet.problem, Status.FEASIBLE, Placement(placement), verdict.pressures)
    return plan, fleet


def realistic_plan():
    return plan_of((DATA / "fleet.yaml").read_text(encoding="utf-8"), PLACEMENT)


def texts(emission):
    """Return the sentences of its notes."""
    return tuple(note.text for note in emission.notes)
