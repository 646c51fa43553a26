"""What a target makes: files as text, and what they cannot do."""

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from colocate.outputs.emit.engine_options import SLEEP, command_by_hand
from colocate.outputs.emit.launch import Fleetwide, Launch
from colocate.outputs.emit.names import safe_names
from colocate.outputs.text.sanitise import one_line


@dataclass(frozen=True)
class EmittedFile:
    """One file; its name is safe in any folder."""

    name: str
    text: str
    node: str = ""
    """The machine that it is for, empty where there is only one or it is for all."""
    executable: bool = False


@dataclass(frozen=True)
class Emission:
    """All files of a target."""

    files: tuple[EmittedFile, ...]
    notes: tuple[str, ...] = ()
    """What the files cannot honour, for a person."""


def comment_lines(sentences: Iterable[str]) -> str:
    """Return sentences as lines of comment in shell or YAML; no text in them can end one."""
    return "".join(f"# {one_line(sentence, 1000)}\n" for sentence in sentences)


def by_node(
    fleetwide: Fleetwide,
    stem: str,
    suffix: str,
    text_of: Callable[[str, list[Launch]], str],
    executable: bool = False,
) -> tuple[EmittedFile, ...]:
    """Return a file for each machine, named after it where machines have names."""
    nodes = fleetwide.nodes
    names = safe_names(nodes)
    return tuple(
        EmittedFile(
            f"{stem}-{names[node]}{suffix}" if node else f"{stem}{suffix}",
            text_of(node, launches),
            node,
            executable,
        )
        for node, launches in nodes.items()
    )


def asleep_lines(fleetwide: Fleetwide) -> list[str]:
    """Return sentences on the models that the plan leaves asleep, and how to start them."""
    engine = fleetwide.settings.engine
    lines = []
    for spec in fleetwide.asleep:
        lines.append(f"asleep in this plan, so not started: {spec.name}")
        lines.append(f"where there is room for it: {shlex.join(command_by_hand(spec, engine))}")
    return [*lines, SLEEP[engine]] if lines else []
