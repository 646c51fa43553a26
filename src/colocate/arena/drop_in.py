"""The solver as a program for the public benchmark, to import in place of another program."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.solver.plan import Status
from colocate.solver.solve import solve


class BenchmarkModel(Protocol):
    """A model as the public benchmark passes it."""

    @property
    def model_size(self) -> float:
        """GB that it always holds."""

    @property
    def req_rate(self) -> float:
        """Requests per second."""

    @property
    def slo(self) -> float:
        """Latency objective."""


AnyModel = TypeVar("AnyModel", bound=BenchmarkModel)


def compute_model_placement(
    gpu_num: int, models: Iterable[AnyModel], gpu_memory: float = 80
) -> dict[int, list[AnyModel]]:
    """Place models on `gpu_num` GPUs of `gpu_memory` GB each.

    Parameters
    ----------
    gpu_num
        How many GPUs there are.
    models
        Any objects with `model_size`, `req_rate` and `slo`; they need not be hashable.
    gpu_memory
        GB that models may use on each GPU.

    Returns
    -------
    dict
        The same objects by GPU index, with every GPU present.

    Raises
    ------
    InfeasibleError, NothingFoundError
        If no placement exists, or the search found none: no model is ever left out.
    """
    if not isinstance(gpu_num, int) or gpu_num < 1:
        raise InputError.of("gpu_num", gpu_num, "a whole number, at least 1")
    placement: dict[int, list[AnyModel]] = {gpu: [] for gpu in range(gpu_num)}
    objects = list(models)
    gpus = [Gpu(str(gpu), gpu_memory) for gpu in placement]
    if not objects:
        return placement
    named = [
        Model(str(number), model.model_size, model.req_rate, model.slo)
        for number, model in enumerate(objects)
    ]
    plan = solve(Problem(tuple(gpus), tuple(named)))
    if plan.status is Status.INFEASIBLE:
        raise InfeasibleError(plan.reason)
    if not plan.placement:
        raise NothingFoundError(plan.reason)
    for number, model in enumerate(objects):
        placement[int(plan.placement[str(number)][0])].append(model)
    return placement
