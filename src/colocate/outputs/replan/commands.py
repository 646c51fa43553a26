"""Steps as commands: a script that does them one by one, and goes on where it stopped.

In the order of the list all steps are safe one by one. The script notes each step that is done. One
that fails ends it, with the command that takes the step back; started again, it goes on there.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.launch import Launch, launches_of
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.engines.sleep import sleep_urls
from colocate.outputs.emit.settings import OWN_ENGINES, EmitSettings, Engine, Target
from colocate.outputs.emit.targets.shell_script import health_address
from colocate.outputs.replan.words import step_text, steps_text
from colocate.outputs.text.sanitise import one_line
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import EngineStep, StepKind
from colocate.solver.plan import Plan

Placed = tuple[str, frozenset[str]]
Launches = Mapping[Placed, Launch]
SCRIPT, LIST = "steps.sh", "steps.txt"

FUNCTIONS = """\
#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2086 # commands are shown as they are, and SWITCH may have arguments
# {head}
# OLD and NEW are the folders with the files of the old and of the new plan.
# SWITCH is a command that gets open or close, the model, and the address of an engine: it tells
# your gateway where to send requests.
set -euo pipefail
cd "$(dirname "$0")"
OLD="${{OLD:-old}}" NEW="${{NEW:-new}}" SWITCH="${{SWITCH:-echo switch}}"
DONE="${{DONE:-steps.done}}" READY_SECONDS="${{READY_SECONDS:-1800}}"
DRAIN_SECONDS="${{DRAIN_SECONDS:-300}}"
touch "$DONE"

on() {{ # NODE COMMAND...: here if the node has no name or this one, else over ssh
  local node="$1"; shift
  if [ -z "$node" ] || [ "$node" = "$(hostname)" ]; then
    "$@"
  else
    # shellcheck disable=SC2029 # the words are quoted here, for the shell there
    ssh "$node" "$(printf '%q ' "$@")"
  fi
}}

answers() {{ # URL: wait until an engine answers
  local left="$READY_SECONDS"
  until curl -fsS -o /dev/null --max-time 5 "$1/health"; do
    left=$((left - 5)); [ "$left" -gt 0 ] || return 1; sleep 5
  done
}}

closed() {{ # MODEL URL: send no more requests, and wait until those in work are done
  $SWITCH close "$1" "$2"
  local left="$DRAIN_SECONDS"
  while [ "$left" -gt 0 ] && curl -fsS --max-time 5 "$2/metrics" |
    grep -qE '^(vllm:num_requests_running|sglang:num_running_reqs).* [1-9]'; do
    left=$((left - 2)); sleep 2
  done
}}

step() {{ # NUMBER WHAT UNDO COMMAND...
  local number="$1" what="$2" undo="$3"; shift 3
  if grep -qx "$number" "$DONE"; then return; fi
  echo "step $number: $what"
  if ! "$@"; then
    echo "step $number failed: $what" >&2
    [ -z "$undo" ] || echo "to take it back: $undo" >&2
    exit 1
  fi
  echo "$number" >> "$DONE"
}}

"""


def steps_files(
    target: Target, steps: SafeSteps, old: tuple[Plan, Fleet], new: tuple[Plan, Fleet]
) -> tuple[EmittedFile, ...]:
    """Return steps as commands for a target, or as a list where it has none for single engines.

    Parameters
    ----------
    target
        What the plans were emitted for.
    steps
        The steps.
    old, new
        The plan that runs and the new one, with their fleets.
    """
    listed = EmittedFile(LIST, _list(steps))
    if target not in WRITERS:
        return (listed,)
    settings = EmitSettings()
    settings = settings.settled(OWN_ENGINES.get(target, settings.engine), new[1].spec.sharing)
    before = _launches(old, settings)
    moved = replace(settings, base_port=new_base_port(old, settings))
    after = _launches(new, moved)
    lines = WRITERS[target](steps, before, after, settings)
    head = FUNCTIONS.format(head=one_line(steps_text(steps)))
    return EmittedFile(SCRIPT, head + "\n".join(lines) + "\n", executable=True), listed


def new_base_port(old: tuple[Plan, Fleet], settings: EmitSettings) -> int:
    """Return the first port for new engines: none of the old ones has it or a later one."""
    return max((launch.port for launch in _launches(old, settings).values()), default=7999) + 1


def _launches(planned: tuple[Plan, Fleet], settings: EmitSettings) -> Launches:
    plan, fleet = planned
    found = launches_of(plan, fleet, settings, settings.base_port).launches
    return {(launch.model, frozenset(launch.gpus)): launch for launch in found}


def _list(steps: SafeSteps) -> str:
    lines = [one_line(steps_text(steps)), ""]
    for step in steps.steps:
        waits = f", after {' '.join(map(str, step.after))}" if step.after else ""
        undo = f"; undo: {step.undo.value}" if step.undo else ""
        lines.append(f"{step.number}. {one_line(step_text(step))}{waits}{undo}")
    return "\n".join(lines) + "\n"


class _Known:
    """The launch of each engine at the moment of a step: of the new plan once it was loaded."""

    def __init__(self, old: Launches, new: Launches) -> None:
        self._old, self._new = old, new
        self._loaded: set[Placed] = set()

    def of(self, step: EngineStep) -> tuple[Launch | None, str]:
        """Return the launch of a step's engine, and the folder that its files are in."""
        place = step.engine.place
        if step.kind is StepKind.LOAD:
            self._loaded.add(place)
        if place in self._loaded or place not in self._old:
            return self._new.get(place), "$NEW"
        return self._old[place], "$OLD"


def _script_lines(
    steps: SafeSteps, old: Launches, new: Launches, settings: EmitSettings
) -> Iterable[str]:
    known = _Known(old, new)
    nodes = safe_names({launch.node: None for launch in (*old.values(), *new.values())})
    for step in steps.steps:
        launch, folder = known.of(step)
        if launch is None:
            yield _by_hand(step)
            continue
        url = f"http://{launch.node or health_address(settings)}:{launch.port}"
        stem = f"{settings.engine.value}-{nodes[launch.node]}" if launch.node else settings.engine
        script = f'"{folder}/{stem}.sh"'
        where, name = shlex.quote(launch.node), shlex.quote(launch.name)
        doing = {
            StepKind.LOAD: f"on {where} {script} start {name}",
            StepKind.UNLOAD: f"on {where} {script} stop {name}",
            StepKind.WAIT: f"answers {shlex.quote(url)}",
            StepKind.SWITCH: _opened(launch, url),
            StepKind.DRAIN: _closed(launch, url),
            StepKind.SLEEP: _post(settings.engine, "sleep", url),
            StepKind.WAKE: _post(settings.engine, "wake_up", url),
        }
        yield _line(step, doing[step.kind], doing[step.undo] if step.undo else "")


def _kubectl_lines(
    steps: SafeSteps, old: Launches, new: Launches, settings: EmitSettings
) -> Iterable[str]:
    known = _Known(old, new)
    for step in steps.steps:
        launch, folder = known.of(step)
        if launch is None:
            yield _by_hand(step)
            continue
        name = launch.name
        label = shlex.quote(f"app.kubernetes.io/name={name}")
        deployment = shlex.quote(f"deployment/{name}")
        doing = {
            StepKind.LOAD: f'kubectl apply -f "{folder}/kubernetes.yaml" -l {label}',
            StepKind.UNLOAD: f"kubectl delete {deployment} --wait",
            StepKind.WAIT: f"kubectl rollout status {deployment} --timeout=30m",
            StepKind.SWITCH: _opened(launch, f"http://{name}"),
            StepKind.DRAIN: _closed(launch, f"http://{name}"),
            StepKind.SLEEP: _post(settings.engine, "sleep", f"http://{name}"),
            StepKind.WAKE: _post(settings.engine, "wake_up", f"http://{name}"),
        }
        yield _line(step, doing[step.kind], doing[step.undo] if step.undo else "")


WRITERS: dict[Target, Callable[[SafeSteps, Launches, Launches, EmitSettings], Iterable[str]]] = {
    Target.VLLM: _script_lines,
    Target.SGLANG: _script_lines,
    Target.KUBERNETES: _kubectl_lines,
}
"""How steps become commands; other targets get a list."""


def _line(step: EngineStep, doing: str, undo: str) -> str:
    what = shlex.quote(one_line(step_text(step)))
    return f"step {step.number} {what} {shlex.quote(undo)} {doing}"


def _by_hand(step: EngineStep) -> str:
    """Return a step for an engine that neither plan starts: one that is there for a while."""
    told = shlex.quote(f"do by hand: {one_line(step_text(step))}; then enter")
    return _line(step, f"read -r -p {told}", "")


def _closed(launch: Launch, url: str) -> str:
    return f"closed {shlex.quote(launch.model)} {shlex.quote(url)}"


def _opened(launch: Launch, url: str) -> str:
    return f"$SWITCH open {shlex.quote(launch.model)} {shlex.quote(url)}"


def _post(engine: Engine, what: str, url: str) -> str:
    return f"curl -fsS -X POST {shlex.quote(sleep_urls(engine, url)[what])}"
