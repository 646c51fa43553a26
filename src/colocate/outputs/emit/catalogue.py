"""The catalogue of targets."""

from collections.abc import Callable
from dataclasses import replace

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker, maker_of
from colocate.outputs.emit.emission import Emission, NoteKind, notes_on
from colocate.outputs.emit.engines.mps import MOST_CLIENTS
from colocate.outputs.emit.gateway.gateway_files import gateway_files
from colocate.outputs.emit.settings import (
    OWN_ENGINES,
    EmitSettings,
    Share,
    Sharing,
    Target,
    TimeSlice,
)
from colocate.outputs.emit.targets.compose import emit_compose
from colocate.outputs.emit.targets.kubernetes import emit_kubernetes
from colocate.outputs.emit.targets.kvcached import emit_kvcached
from colocate.outputs.emit.targets.ray_serve import emit_ray
from colocate.outputs.emit.targets.shell_script import emit_scripts
from colocate.outputs.emit.targets.systemd import emit_systemd
from colocate.outputs.text.wording import quoted
from colocate.solver.plan import Plan

TARGETS: dict[Target, Callable[[Plan, Fleet, EmitSettings], Emission]] = {
    Target.VLLM: emit_scripts,
    Target.SGLANG: emit_scripts,
    Target.KVCACHED: emit_kvcached,
    Target.COMPOSE: emit_compose,
    Target.KUBERNETES: emit_kubernetes,
    Target.RAY: emit_ray,
    Target.SYSTEMD: emit_systemd,
}
SLICE_NUMBERS = {TimeSlice.SHORT: 1, TimeSlice.MEDIUM: 2, TimeSlice.LONG: 3}
"""What nvidia-smi calls the lengths of slices."""


def emit(
    target: Target | str,
    plan: Plan,
    fleet: Fleet,
    settings: EmitSettings | None = None,
    sharing: Sharing | str | None = None,
) -> Emission:
    """Return the files that start a plan.

    Parameters
    ----------
    target
        What the files are for, such as "vllm" or "kubernetes"; a target with an engine of its own
        ignores that of the settings.
    plan
        Which model is on which GPU, checked.
    fleet
        What is known about the models and GPUs.
    settings
        Choices of the user.
    sharing
        How the engines on a GPU share it: "slices" or "mps". By default as the settings say, or
        else the fleet file.

    Raises
    ------
    InputError
        If something in plan or settings cannot be started, such as an argument for an engine that
        the plan decides on.
    UnknownNameError
        If there is no such target.
    """
    if target not in TARGETS:
        raise UnknownNameError.among("target", str(target), [each.value for each in TARGETS])
    target = Target(target)
    chosen = settings or EmitSettings()
    if sharing is not None:
        chosen = replace(chosen, sharing=_sharing(sharing))
    final = chosen.settled(OWN_ENGINES.get(target, chosen.engine), fleet.spec.sharing)
    _refuse_amd(plan, fleet, final)
    _refuse_crowds(plan, final)
    emission = TARGETS[target](plan, fleet, final)
    files, notes = gateway_files(target, plan, fleet, final)
    return replace(
        emission,
        companions=(*emission.companions, *files),
        notes=(
            *emission.notes,
            *notes_on(NoteKind.TARGET, _slice_notes(target, final)),
            *notes_on(NoteKind.GATEWAY, notes),
        ),
    )


def _sharing(name: str) -> Sharing:
    known = [each.value for each in Sharing]
    if name not in known:
        raise UnknownNameError.among("sharing", str(name), known)
    return Sharing(name)


def _refuse_amd(plan: Plan, fleet: Fleet, settings: EmitSettings) -> None:
    """Refuse ways of taking turns that only GPUs of NVIDIA have, where an engine is on others."""
    if settings.mps:
        path, value = "sharing", Sharing.MPS.value
    elif settings.time_slice is not TimeSlice.DEFAULT:
        path, value = "time_slice", settings.time_slice.value
    else:
        return
    for gpu, models in plan.models_by_gpu().items():
        if models and maker_of(fleet.devices[gpu].kind) is Maker.AMD:
            found = f"is only for GPUs of NVIDIA, and {quoted(gpu)} is one of AMD"
            raise InputError(Fault(found, advice="leave it out", value=value, path=(path,)))


def _refuse_crowds(plan: Plan, settings: EmitSettings) -> None:
    """Refuse a GPU with more engines than MPS takes."""
    for gpu, models in plan.models_by_gpu().items():
        if settings.mps and len(models) > MOST_CLIENTS:
            found, expected = f"has {len(models)} engines", f"at most {MOST_CLIENTS} under MPS"
            advice = "set most_models in the fleet file, or give --sharing slices"
            raise InputError(Fault(found, expected, advice, owner=Owner("gpu", gpu)))


def _slice_notes(target: Target, settings: EmitSettings) -> list[str]:
    """Return how a person sets the length of slices where the files cannot."""
    by_claims = target is Target.KUBERNETES and settings.share in (Share.DRA, Share.POD)
    if by_claims or settings.time_slice is TimeSlice.DEFAULT:
        return []
    number = SLICE_NUMBERS[settings.time_slice]
    command = f"nvidia-smi compute-policy --set-timeslice={number}"
    return [f"the files do not set the length of slices: run {command} as root on each machine"]
