"""The catalogue of targets."""

from collections.abc import Callable

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.compose import emit_compose
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.kubernetes import emit_kubernetes
from colocate.outputs.emit.kvcached import emit_kvcached
from colocate.outputs.emit.ray_serve import emit_ray
from colocate.outputs.emit.settings import EmitSettings, Target
from colocate.outputs.emit.sglang import emit_sglang
from colocate.outputs.emit.vllm import emit_vllm
from colocate.solver.plan import Plan

TARGETS: dict[Target, Callable[[Plan, Fleet, EmitSettings], Emission]] = {
    Target.VLLM: emit_vllm,
    Target.SGLANG: emit_sglang,
    Target.KVCACHED: emit_kvcached,
    Target.COMPOSE: emit_compose,
    Target.KUBERNETES: emit_kubernetes,
    Target.RAY: emit_ray,
}


def emit(
    target: Target, plan: Plan, fleet: Fleet, settings: EmitSettings | None = None
) -> Emission:
    """Return the files that start a plan.

    Parameters
    ----------
    target
        What they are for.
    plan, fleet
        What is where, checked, and what is known about models and GPUs.
    settings
        Choices of the user.

    Raises
    ------
    InputError
        If something in plan or settings cannot be started, such as a model without any room for
        its cache.
    """
    return TARGETS[target](plan, fleet, settings or EmitSettings())
