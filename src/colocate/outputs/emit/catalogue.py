"""The catalogue of targets."""

from collections.abc import Callable
from dataclasses import replace

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.gateway.gateway_files import gateway_files
from colocate.outputs.emit.settings import OWN_ENGINES, EmitSettings, Target
from colocate.outputs.emit.targets.compose import emit_compose
from colocate.outputs.emit.targets.kubernetes import emit_kubernetes
from colocate.outputs.emit.targets.kvcached import emit_kvcached
from colocate.outputs.emit.targets.ray_serve import emit_ray
from colocate.outputs.emit.targets.shell_script import emit_scripts
from colocate.solver.plan import Plan

TARGETS: dict[Target, Callable[[Plan, Fleet, EmitSettings], Emission]] = {
    Target.VLLM: emit_scripts,
    Target.SGLANG: emit_scripts,
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
        What the files are for; a target with an engine of its own ignores that of the settings.
    plan
        Which model is on which GPU, checked.
    fleet
        What is known about the models and GPUs.
    settings
        Choices of the user.

    Raises
    ------
    InputError
        If something in plan or settings cannot be started, such as a model without any room for
        its cache.
    """
    chosen = settings or EmitSettings()
    engine = OWN_ENGINES.get(target, chosen.engine)
    final = replace(chosen, engine=engine)
    emission = TARGETS[target](plan, fleet, final)
    files, notes = gateway_files(target, plan, fleet, final)
    return replace(
        emission,
        companions=(*emission.companions, *files),
        notes=(*emission.notes, *notes),
    )
