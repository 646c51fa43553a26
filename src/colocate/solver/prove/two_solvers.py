"""stub"""
from colocate.solver.construct.completion import Outcome
from types import SimpleNamespace
def small_enough(problem): return False
def places(problem): return 10**9
def search_all(*a, **k): return SimpleNamespace(outcome=Outcome.UNDECIDED, placement={}, cost_bound=0.0, alarm=None)
