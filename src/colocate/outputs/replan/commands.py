"""Steps as commands: a script that does them one by one, and goes on where it stopped.

In the order of the list all steps are safe one by one. The script notes each step that is done. One
that fails ends it, with the command that takes the step back; started again, it goes on there.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from colocate.errors import InputError, OutputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.groups import crowded_gpus
from colocate.outputs.emit.engines.launch import Fleetwide
from colocate.outputs.emit.engines.running_engines import engines_file, running_engines
from colocate.outputs.emit.gateway.endpoints import engines_of
from colocate.outputs.emit.settings import OWN_ENGINES, EmitSettings, RunningEngine, Target
from colocate.outputs.replan.step_functions import FUNCTIONS
from colocate.outputs.replan.step_writers import WRITERS, ScriptLines
from colocate.outputs.replan.words import step_text, steps_text
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import listed
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.solver.plan import Plan

SCRIPT, LIST, DONE = "steps.sh", "steps.txt", "steps.done"
RAY = (
    "no commands: Ray Serve deploys a config as a whole and chooses the GPUs of a node itself, so "
    "no single engine can be started or stopped at its place. serve deploy new/ray.yaml changes "
    "all models at once"
)
TOGETHER = (
    "no commands: under MPS the engines of a GPU start and end together in this target, so none of "
    "them can be started or stopped alone"
)
ALONE = (
    "started with GPUs of their own, so without MPS: {names}; neighbours that come take turns with "
    "them until they are restarted from new/"
)
USUAL_NAMES = (
    "engines that run are taken to have the names and ports that emit gives the old plan by "
    "default; after an earlier change, name its folder with --running"
)


class StepFiles(NamedTuple):
    """Steps for a target."""

    files: tuple[EmittedFile, ...]
    engines: tuple[EmittedFile, ...]
    """What the script names besides, in a folder of its own."""
    beside: tuple[EmittedFile, ...]
    """What goes beside the files of the new plan: the names and ports of its engines."""
    settings: EmitSettings
    """With these the files of the new plan are to be emitted."""
    reason: str
    """Why there is a list only; empty if there is a script."""
    notes: tuple[str, ...]
    """What a person should know, that reason included."""


def steps_files(
    target: Target,
    steps: SafeSteps,
    old: tuple[Plan, Fleet],
    new: tuple[Plan, Fleet],
    running: Sequence[RunningEngine] | None = None,
) -> StepFiles:
    """Return steps as commands for a target, or as a list where it has none for single engines.

    Engines that stay keep their names and ports, and new ones get others.

    Parameters
    ----------
    target
        What the plans were emitted for.
    steps
        The steps.
    old, new
        The plan that runs and the new one, with their fleets.
    running
        The engines that run; None if they are called as `emit` calls those of the old plan.

    Raises
    ------
    InputError
        If the engines that run are not those of the old plan, or a GPU is another device now.
    """
    _refuse_other_devices(old[1], new[1])
    usual = EmitSettings(running=tuple(running or ()))
    settings = usual.settled(OWN_ENGINES.get(target, usual.engine), new[1].spec.sharing)
    before = engines_of(target, *old, settings)
    if running is not None:
        _refuse_others(running, running_engines(before.launches))
    settings = replace(settings, running=running_engines(before.launches))
    after = engines_of(target, *new, settings)
    reason = RAY if target is Target.RAY else ""
    crowded = crowded_gpus((*before.launches,)) or crowded_gpus((*after.launches,))
    if settings.mps and crowded and target not in (Target.VLLM, Target.SGLANG):
        reason = TOGETHER
    alone = _left_outside_mps(before, after) if settings.mps and not reason else ""
    notes = tuple(filter(None, (reason, "" if running is not None else USUAL_NAMES, alone)))
    listed = EmittedFile(LIST, _list(steps, notes))
    beside = (engines_file(target, after.launches),)
    if reason:
        return StepFiles((listed,), (), beside, settings, reason, notes)
    script = ScriptLines(steps, before, after)
    done = EmittedFile(SCRIPT, _script(target, script), executable=True)
    return StepFiles((done, listed), tuple(script.files), beside, settings, "", notes)


def _left_outside_mps(before: Fleetwide, after: Fleetwide) -> str:
    """Return a note on engines that stay and get their first neighbours; empty if none does.

    Parameters
    ----------
    before, after
        The engines that run, and those of the new plan.
    """
    alone = {(each.model, each.gpus) for each in before.launches if not each.crowded}
    names = [
        each.name for each in after.launches if each.crowded and (each.model, each.gpus) in alone
    ]
    return ALONE.format(names=listed(names)) if names else ""


def refuse_begun(folder: Path) -> None:
    """Refuse to write over steps of which some are done: the notes on these would count for others.

    Parameters
    ----------
    folder
        Where steps are to be written.
    """
    if (folder / DONE).exists():
        raise OutputError(f"{folder}: has steps that have begun ({DONE}); give another folder")


def _refuse_other_devices(old: Fleet, new: Fleet) -> None:
    """Refuse GPUs that are another device of their machine than before.

    Devices that a fleet file does not number are counted. If a GPU is taken out of the middle of a
    file, those behind it would count as others, and engines would start on the wrong ones.

    Parameters
    ----------
    old, new
        The fleet of the plan that runs, and the fleet now.
    """
    for name, device in new.devices.items():
        before = old.devices.get(name)
        if before is not None and (before.node, before.number) != (device.node, device.number):
            found = (
                f"is device {device.number} of {device.node or 'its machine'} now, and was device "
                f"{before.number} of {before.node or 'its machine'}"
            )
            advice = f"state `devices: [{before.number}]` for it, or lost GPUs with --without"
            raise InputError(Fault(found, advice=advice, owner=Owner("gpu", name)))


def _refuse_others(running: Sequence[RunningEngine], planned: Sequence[RunningEngine]) -> None:
    """Refuse engines that are not at the places of the plan."""
    found = {(each.model, frozenset(each.gpus)) for each in running}
    wanted = {(each.model, frozenset(each.gpus)) for each in planned}
    if found == wanted:
        return
    model, gpus = min(found ^ wanted, key=lambda place: (place[0], sorted(place[1])))
    told = one_line(f"{model} on {' + '.join(sorted(gpus))}")
    said = f"has {told}, and the plan that runs has not"
    if (model, gpus) in wanted:
        said = f"lacks {told}, which the plan that runs has"
    advice = "give the folder whose steps led to this plan"
    raise InputError(Fault(said, advice=advice, path=("--running",)))


def _script(target: Target, script: ScriptLines) -> str:
    lines = list(WRITERS[target](script))
    head = FUNCTIONS.format(head=one_line(steps_text(script.steps))) + script.functions
    return "\n".join([head, *script.checks, *lines, "ended"]) + "\n"


def _list(steps: SafeSteps, notes: Sequence[str]) -> str:
    lines = [one_line(steps_text(steps)), *notes, ""]
    for step in steps.steps:
        waits = f", after {' '.join(map(str, step.after))}" if step.after else ""
        undo = f"; undo: {step.undo.value}" if step.undo else ""
        lines.append(f"{step.number}. {one_line(step_text(step))}{waits}{undo}")
    return "\n".join(lines) + "\n"
