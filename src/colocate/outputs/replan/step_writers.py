"""Steps as lines of a script, one function for each kind of target."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.names import safe_names
from colocate.outputs.emit.engines.sleep import sleep_urls
from colocate.outputs.emit.settings import EmitSettings, Target
from colocate.outputs.emit.targets.kubernetes import PART_OF
from colocate.outputs.emit.targets.kubernetes_pods import NAME
from colocate.outputs.emit.targets.kvcached import config_text
from colocate.outputs.emit.targets.shell_script import health_address
from colocate.outputs.replan.step_functions import (
    POD_FUNCTIONS,
    ROUTER_FUNCTIONS,
    UNIT_FUNCTIONS,
)
from colocate.outputs.replan.words import step_text
from colocate.outputs.text.sanitise import one_line
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import EngineStep, StepKind

Placed = tuple[str, frozenset[str]]
Commands = Mapping[StepKind, str]
SINGLE = "engines"
"""The folder with a file for each engine, for the controller of kvcached."""
ROUTED = {StepKind.SWITCH: "routed_to", StepKind.DRAIN: "routed_away"}
"""The steps at which the router of kvcached may be started anew, and what does it."""


@dataclass
class ScriptLines:
    """The lines of a script for a target, with what they need.

    Parameters
    ----------
    steps
        The steps.
    old, new
        All engines of the plan that runs, and of the new one.
    """

    steps: SafeSteps
    old: Fleetwide
    new: Fleetwide
    files: list[EmittedFile] = field(default_factory=list)
    """Further files that the script names."""
    functions: str = ""
    """Functions that only this target needs."""
    checks: list[str] = field(default_factory=list)
    """Lines that come before the first step: each fails if something is not where it must be."""

    def __post_init__(self) -> None:
        self._before = {_place(launch): launch for launch in self.old.launches}
        self._after = {_place(launch): launch for launch in self.new.launches}
        nodes = {la.node: None for la in (*self.old.launches, *self.new.launches)}
        self._nodes = safe_names(node for node in nodes if node)

    @property
    def settings(self) -> EmitSettings:
        """Choices that hold for both plans."""
        return self.new.settings

    def stem(self, name: str, node: str) -> str:
        """Return the name of a file for a machine, without its ending."""
        return f"{name}-{self._nodes[node]}" if node else name

    def url(self, launch: Launch) -> str:
        """Return where an engine answers, as other machines see it."""
        return f"http://{launch.node or health_address(self.settings)}:{launch.port}"

    def need(self, node: str, file: str, first: bool = False) -> None:
        """Let the script check that a file is on a machine.

        Parameters
        ----------
        node
            The machine, empty for that of the script.
        file
            Its path, as a word of the script.
        first
            Whether it must be there at the first start only.
        """
        check = f"needs {shlex.quote(node)} {file}"
        if first:
            check = f'[ -s "$DONE" ] || {check}'
        if check not in self.checks:
            self.checks.append(check)

    def launched(self) -> Iterator[tuple[EngineStep, Launch | None, str]]:
        """Yield each step with its engine and the folder of its files; None if no plan has it.

        An engine of both plans has the files of the new one once it was loaded anew.
        """
        loaded: set[Placed] = set()
        for step in self.steps.steps:
            place = step.engine.place
            if step.kind is StepKind.LOAD:
                loaded.add(place)
            if place in loaded or place not in self._before:
                yield step, self._after.get(place), "$NEW"
            else:
                yield step, self._before[place], "$OLD"

    def lines(self, commands_of: Callable[[Launch, str], Commands]) -> Iterator[str]:
        """Yield a line for each step.

        Parameters
        ----------
        commands_of
            Returns a command for each kind of step, given an engine and the folder of its files.
        """
        for step, launch, folder in self.launched():
            if launch is None:
                yield _by_hand(step)
                continue
            yield line(step, commands_of(launch, folder))

    def asleep_and_awake(self, url: str, node: str = "") -> dict[StepKind, str]:
        """Return what puts an engine to sleep and wakes it."""
        posts = sleep_urls(self.settings.engine, url)
        post = f"on {shlex.quote(node)} curl -fsS -X POST"
        return {
            StepKind.SLEEP: f"{post} {shlex.quote(posts['sleep'])}",
            StepKind.WAKE: f"{post} {shlex.quote(posts['wake_up'])}",
        }

    def reached(self, launch: Launch) -> dict[StepKind, str]:
        """Return what waits for an engine that other machines reach, opens and closes it."""
        url, model = shlex.quote(self.url(launch)), shlex.quote(launch.model)
        return {
            StepKind.WAIT: f"answers '' {url}",
            StepKind.SWITCH: f"$SWITCH open {model} {url}",
            StepKind.DRAIN: f"closed '' {model} {url}",
            **self.asleep_and_awake(self.url(launch)),
        }


def _place(launch: Launch) -> Placed:
    return launch.model, frozenset(launch.gpus)


def line(step: EngineStep, commands: Commands) -> str:
    """Return the line of a step, with what takes it back.

    Parameters
    ----------
    step
        The step.
    commands
        A command for each kind of step.
    """
    undo = commands[step.undo] if step.undo else ""
    if step.undo is StepKind.SWITCH:  # the engine may just have been started again
        undo = f"{commands[StepKind.WAIT]} && {undo}"
    what = shlex.quote(one_line(step_text(step)))
    return f"step {step.number} {what} {shlex.quote(undo)} {commands[step.kind]}"


def _by_hand(step: EngineStep) -> str:
    """Return a step for an engine that neither plan starts: one that is there for a while."""

    def asked(kind: StepKind) -> str:
        told = one_line(step_text(replace(step, kind=kind)))
        return f"read -r -p {shlex.quote(f'do by hand: {told}; then enter')}"

    return line(step, {kind: asked(kind) for kind in StepKind})


def script_lines(script: ScriptLines) -> Iterator[str]:
    """Yield commands for the scripts of engines."""

    def commands_of(launch: Launch, folder: str) -> Commands:
        file = f'"{folder}/{script.stem(script.settings.engine.value, launch.node)}.sh"'
        script.need(launch.node, file)
        if folder == "$OLD":
            script.need(launch.node, f'"$LOGS/{launch.name}.pid"', first=True)
        run = f"on {shlex.quote(launch.node)} {file}"
        return {
            StepKind.LOAD: f"{run} start {launch.name}",
            StepKind.UNLOAD: f"{run} stop {launch.name}",
            **script.reached(launch),
        }

    return script.lines(commands_of)


def compose_lines(script: ScriptLines) -> Iterator[str]:
    """Yield commands for docker compose."""

    def commands_of(launch: Launch, folder: str) -> Commands:
        file = f'"{folder}/{script.stem("compose", launch.node)}.yaml"'
        script.need(launch.node, file)
        run = f"on {shlex.quote(launch.node)} docker compose --file {file}"
        return {
            StepKind.LOAD: f"{run} up --detach --no-deps {launch.name}",
            StepKind.UNLOAD: f"{run} rm --stop --force {launch.name}",
            **script.reached(launch),
        }

    return script.lines(commands_of)


def systemd_lines(script: ScriptLines) -> Iterator[str]:
    """Yield commands for systemd; the last ones let a restart of a machine start the new plan."""
    script.functions = UNIT_FUNCTIONS

    def commands_of(launch: Launch, folder: str) -> Commands:
        unit, node = f"colocate-{launch.name}.service", shlex.quote(launch.node)
        script.need(launch.node, f'"{folder}/{unit}"')
        return {
            StepKind.LOAD: f'unit_started {node} "{folder}/{unit}" {unit}',
            StepKind.UNLOAD: f"unit_stopped {node} {unit}",
            **script.reached(launch),
        }

    yield from script.lines(commands_of)
    number = max((step.number for step in script.steps.steps), default=0)
    for place, node in enumerate(script.new.nodes, start=1):
        target = f"{script.stem('colocate', node)}.target"
        what = shlex.quote(one_line(f"enable {target}"))
        script.need(node, f'"$NEW/{target}"')
        doing = f'units_grouped {shlex.quote(node)} "$NEW/{target}" {target}'
        yield f"step {number + place} {what} '' {doing}"


def kubectl_lines(script: ScriptLines) -> Iterator[str]:
    """Yield commands for Kubernetes; first come claims and Services that no engine owns."""
    script.functions = POD_FUNCTIONS
    before, after = safe_names(script.old.fleet.models), safe_names(script.new.fleet.models)
    port = script.settings.base_port
    rest = shlex.quote(f"!{NAME}")
    prepared = f'kubectl apply --filename "$NEW/kubernetes.yaml" --selector {rest}'
    script.need("", '"$NEW/kubernetes.yaml"')
    yield f"step claims 'apply claims and Services' '' {prepared}"

    def commands_of(launch: Launch, folder: str) -> Commands:
        name, model = launch.name, shlex.quote(launch.model)
        label, url = f"{NAME}={name}", f"http://{name}"
        value = after.get(launch.model) or before[launch.model]
        file = f'--filename "{folder}/kubernetes.yaml"'
        script.need("", f'"{folder}/kubernetes.yaml"')
        return {
            StepKind.LOAD: f"kubectl apply {file} --selector {label}",
            StepKind.UNLOAD: f"kubectl delete deployment/{name} --cascade=foreground --wait "
            "--ignore-not-found",
            StepKind.WAIT: f"kubectl rollout status deployment/{name} --timeout=30m",
            StepKind.SWITCH: f"pod_joined {label} {model} {name} {PART_OF} {value}",
            StepKind.DRAIN: f"pod_left {label} {model} {name} {port} {PART_OF}",
            **script.asleep_and_awake(url),
        }

    yield from script.lines(commands_of)


def kvcached_lines(script: ScriptLines) -> Iterator[str]:
    """Yield commands for kvcached: its controller starts engines from files with one each."""
    script.functions = ROUTER_FUNCTIONS
    routes = _Routes(script)
    settings = script.settings
    for folder, fleetwide in (("$OLD", script.old), ("$NEW", script.new)):
        script.files += [
            EmittedFile(_single(launch, folder), config_text([launch], settings, router=False))
            for launch in fleetwide.launches
        ]
    for step, launch, folder in script.launched():
        if launch is None:
            yield _by_hand(step)
            continue
        yield line(step, routes.commands(step, launch, folder))


class _Routes:
    """The commands of kvcached, and the engines that each router knows after every step."""

    def __init__(self, script: ScriptLines) -> None:
        self._script = script
        self._known: dict[str, list[Launch]] = {}
        for launch in script.old.launches:
            self._known.setdefault(launch.node, []).append(launch)

    def commands(self, step: EngineStep, launch: Launch, folder: str) -> Commands:
        """Return a command for each kind of step, for an engine at a step."""
        node, url = shlex.quote(launch.node), f"http://localhost:{launch.port}"
        model = shlex.quote(launch.model)
        launcher = '"$CONTROLLER/launch.py"'
        file = self._file(launch.node, _single(launch, folder))
        self._script.need(launch.node, launcher)
        return {
            StepKind.LOAD: f"on {node} python {launcher} --config {file}",
            StepKind.UNLOAD: f"engine_stopped {node} {launch.name} {url}",
            StepKind.WAIT: f"answers {node} {url}",
            StepKind.SWITCH: f"$SWITCH open {model} {url}",
            StepKind.DRAIN: f"closed {node} {model} {url}",
            **self._script.asleep_and_awake(url, launch.node),
            **self._routed(step, launch, f"{model} {url}"),
        }

    def _routed(self, step: EngineStep, launch: Launch, engine: str) -> dict[StepKind, str]:
        """Return what starts the router anew at a step, and for its undo, if its routes change.

        The undo gives the router back the very list that it had.
        """
        if step.undo is None or step.kind not in ROUTED:
            return {}
        before = self._known.get(launch.node, [])
        after = [each for each in before if each.name != launch.name]
        if step.kind is StepKind.SWITCH:
            after.append(launch)
        self._known[launch.node] = after
        if _endpoints(before) == _endpoints(after):
            return {}
        stem, settings = self._script.stem("routes", launch.node), self._script.settings
        self._script.need(launch.node, '"$CONTROLLER/frontend.py"')
        found = {}
        for kind, known in ((step.kind, after), (step.undo, before)):
            name = f"{stem}-{step.number}-{kind.value}.yaml"
            self._script.files.append(EmittedFile(name, config_text(known, settings, router=True)))
            file = self._file(launch.node, name)
            found[kind] = (
                f"{ROUTED[kind]} {shlex.quote(launch.node)} {file} {settings.base_port} {engine}"
            )
        return found

    def _file(self, node: str, name: str) -> str:
        """Return a file for the controller as a word of the script, which checks for it."""
        word = f'"$ENGINES/{name}"'
        self._script.need(node, word)
        return word


def _single(launch: Launch, folder: str) -> str:
    """Return the name of the file with one engine of a plan."""
    return f"{'old' if folder == '$OLD' else 'new'}-{launch.name}.yaml"


def _endpoints(known: list[Launch]) -> dict[str, int]:
    """Return what a router makes of its list: the last engine that loads a source gets it all."""
    return {launch.source: launch.port for launch in known}


WRITERS: dict[Target, Callable[[ScriptLines], Iterator[str]]] = {
    Target.VLLM: script_lines,
    Target.SGLANG: script_lines,
    Target.COMPOSE: compose_lines,
    Target.SYSTEMD: systemd_lines,
    Target.KUBERNETES: kubectl_lines,
    Target.KVCACHED: kvcached_lines,
}
"""How steps become commands."""
