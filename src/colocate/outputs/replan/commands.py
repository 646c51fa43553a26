"""Steps as commands: a script that does them one by one, and goes on where it stopped.

In the order of the list all steps are safe one by one. The script notes each step that is done. One
that fails ends it, with the command that takes the step back; started again, it goes on there.
"""

from dataclasses import replace
from typing import NamedTuple

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.groups import crowded_gpus
from colocate.outputs.emit.gateway.endpoints import engines_of
from colocate.outputs.emit.settings import OWN_ENGINES, EmitSettings, RunningEngine, Target
from colocate.outputs.replan.step_functions import FUNCTIONS
from colocate.outputs.replan.step_writers import WRITERS, ScriptLines
from colocate.outputs.replan.words import step_text, steps_text
from colocate.outputs.text.sanitise import one_line
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.solver.plan import Plan

SCRIPT, LIST = "steps.sh", "steps.txt"
RAY = (
    "no commands: Ray Serve deploys a config as a whole and chooses the GPUs of a node itself, so "
    "no single engine can be started or stopped at its place. serve deploy new/ray.yaml changes "
    "all models at once"
)
TOGETHER = (
    "no commands: under MPS the engines of a GPU start and end together in this target, so none of "
    "them can be started or stopped alone"
)


class StepFiles(NamedTuple):
    """Steps for a target."""

    files: tuple[EmittedFile, ...]
    engines: tuple[EmittedFile, ...]
    """What the script names besides, in a folder of its own."""
    settings: EmitSettings
    """With these the files of the new plan are to be emitted."""
    reason: str
    """Why there is a list only; empty if there is a script."""


def steps_files(
    target: Target, steps: SafeSteps, old: tuple[Plan, Fleet], new: tuple[Plan, Fleet]
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
    """
    usual = EmitSettings()
    settings = usual.settled(OWN_ENGINES.get(target, usual.engine), new[1].spec.sharing)
    before = engines_of(target, *old, settings)
    running = tuple(RunningEngine(la.model, la.gpus, la.name, la.port) for la in before.launches)
    settings = replace(settings, running=running)
    after = engines_of(target, *new, settings)
    reason = RAY if target is Target.RAY else ""
    crowded = crowded_gpus((*before.launches,)) or crowded_gpus((*after.launches,))
    if settings.mps and crowded and target not in (Target.VLLM, Target.SGLANG):
        reason = TOGETHER
    listed = EmittedFile(LIST, _list(steps, reason))
    if reason:
        return StepFiles((listed,), (), settings, reason)
    script = ScriptLines(steps, before, after)
    lines = list(WRITERS[target](script))
    head = FUNCTIONS.format(head=one_line(steps_text(steps))) + script.functions
    text = head + "\n" + "\n".join(lines) + "\n"
    done = EmittedFile(SCRIPT, text, executable=True)
    return StepFiles((done, listed), tuple(script.files), settings, "")


def _list(steps: SafeSteps, reason: str) -> str:
    lines = [one_line(steps_text(steps)), *([reason] if reason else []), ""]
    for step in steps.steps:
        waits = f", after {' '.join(map(str, step.after))}" if step.after else ""
        undo = f"; undo: {step.undo.value}" if step.undo else ""
        lines.append(f"{step.number}. {one_line(step_text(step))}{waits}{undo}")
    return "\n".join(lines) + "\n"
