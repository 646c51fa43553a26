"""Decides which language models share which GPUs.

The names below are the public interface; each is imported when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from colocate.version import __version__ as __version__

if TYPE_CHECKING:
    from colocate.advise.predict import predict as predict
    from colocate.advise.service import services_of as services_of
    from colocate.advise.simulation.simulate import simulate as simulate
    from colocate.arena.drop_in import compute_model_placement as compute_model_placement
    from colocate.arena.referee import Referee as Referee
    from colocate.arena.strategies.strategy_score import Score as Score
    from colocate.arena.strategies.strategy_score import score_strategy as score_strategy
    from colocate.arena.suites import Suite as Suite
    from colocate.arena.suites import load_suite as load_suite
    from colocate.arena.verdict import Verdict as Verdict
    from colocate.arena.walls.sandbox import Limits as Limits
    from colocate.errors import ColocateError as ColocateError
    from colocate.errors import InfeasibleError as InfeasibleError
    from colocate.errors import InputError as InputError
    from colocate.errors import NothingFoundError as NothingFoundError
    from colocate.errors import UnknownNameError as UnknownNameError
    from colocate.inputs.fleet import read_fleet as read_fleet
    from colocate.inputs.observation.observe import observe as observe
    from colocate.outputs.emit.catalogue import emit as emit
    from colocate.problem.gpu import Gpu as Gpu
    from colocate.problem.model import Model as Model
    from colocate.problem.placement import Placement as Placement
    from colocate.problem.problem import Problem as Problem
    from colocate.problem.verify import PlacementVerdict as PlacementVerdict
    from colocate.problem.verify import verify as verify
    from colocate.replan.replan import replan as replan
    from colocate.simulate.result import Simulation as Simulation
    from colocate.solver.place import place as place
    from colocate.solver.plan import Plan as Plan
    from colocate.solver.plan import Status as Status
    from colocate.solver.solve import solve as solve
    from colocate.solver.strategies import STRATEGIES as STRATEGIES
    from colocate.solver.strategy import Strategy as Strategy

_HOMES = {
    "ColocateError": "errors",
    "Gpu": "problem.gpu",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Limits": "arena.walls.sandbox",
    "Model": "problem.model",
    "NothingFoundError": "errors",
    "Placement": "problem.placement",
    "PlacementVerdict": "problem.verify",
    "Plan": "solver.plan",
    "Problem": "problem.problem",
    "Referee": "arena.referee",
    "STRATEGIES": "solver.strategies",
    "Score": "arena.strategies.strategy_score",
    "Simulation": "simulate.result",
    "Status": "solver.plan",
    "Strategy": "solver.strategy",
    "Suite": "arena.suites",
    "UnknownNameError": "errors",
    "Verdict": "arena.verdict",
    "compute_model_placement": "arena.drop_in",
    "emit": "outputs.emit.catalogue",
    "load_suite": "arena.suites",
    "observe": "inputs.observation.observe",
    "place": "solver.place",
    "predict": "advise.predict",
    "read_fleet": "inputs.fleet",
    "replan": "replan.replan",
    "score_strategy": "arena.strategies.strategy_score",
    "services_of": "advise.service",
    "simulate": "advise.simulation.simulate",
    "solve": "solver.solve",
    "verify": "problem.verify",
}

__all__ = list(_HOMES)


class _Package(ModuleType):
    """A package whose public names stay what they are: `simulate` is the function.

    The folder of the same name would take its place as soon as something in it is imported.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"colocate.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
