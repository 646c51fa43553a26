"""Having every kernel of a solve compiled, or loaded, before its clock starts."""

from functools import cache

import numpy as np

from colocate.problem.gpu import Gpu
from colocate.problem.instance import canonical
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.solver.construct.even import EvenFilling
from colocate.solver.construct.exhaustive import search_fit
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.improve.smoothing import Smoothing
from colocate.solver.prove.columns import fill_gpus
from colocate.solver.prove.dual_functions import prove_by_dual_functions
from colocate.solver.strategies import FOUR_PACKINGS


@cache
def warm_up() -> None:
    """Call every kernel once on a small problem."""
    gpus = (Gpu("a", 80), Gpu("b", 80))
    models = tuple(Model(f"m{n}", 5 + n, load=1 + n) for n in range(4))
    instance = Problem(gpus, models).instance
    layout = empty_layout(canonical(instance))
    rng = np.random.default_rng(0)
    FOUR_PACKINGS.construct(canonical(instance), layout)
    EvenFilling().construct(canonical(instance), layout)
    regroup(canonical(instance), layout, rng, 0.0, fresh_pace(), 10)
    Smoothing().improve(canonical(instance), layout, rng)
    search_fit(instance, layout, 0.2, np.array([10]))
    arrange(instance, layout, layout.gpu_of.copy())
    prove_by_dual_functions(instance, 0.01, 0)
    sizes = np.array([1, 2])
    fill_gpus(sizes, sizes - 1, np.ones(2), np.array([3]), np.zeros(1))
