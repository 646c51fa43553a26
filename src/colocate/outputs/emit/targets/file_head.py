"""The comments at the head of a file: who may use the engines, what may fail, what is asleep."""

import shlex
from collections.abc import Iterable, Sequence

from colocate.outputs.emit.engines.cautions import LOOPBACK, cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.options import command_by_hand
from colocate.outputs.emit.engines.sleep import PATHS
from colocate.outputs.emit.engines.weight_formats import has_argument
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.text.sanitise import LONGEST_NOTE, one_line


def comment_lines(sentences: Iterable[str]) -> str:
    """Return sentences as lines of comment in shell or YAML; no text in them can end one."""
    return "".join(f"# {one_line(sentence, LONGEST_NOTE)}\n" for sentence in sentences)


def comments_on(
    fleetwide: Fleetwide, launches: Sequence[Launch], door: str | None = None
) -> list[str]:
    """Return the sentences for the head of a file.

    Parameters
    ----------
    fleetwide
        All engines.
    launches
        The engines of this file.
    door
        Who may use the engines; None where that is anyone who reaches their address.
    """
    locked = all(has_argument(launch.args, "--api-key") for launch in launches)
    doors = [] if locked else [open_door(fleetwide.settings) if door is None else door]
    noted = (f"NOTE: {note.text}" for note in cautions(fleetwide, launches))
    return [*filter(None, doors), *noted, *_asleep(fleetwide)]


def open_door(settings: EmitSettings, listener: str = "Engines listen") -> str:
    """Return a sentence on who may use the engines, empty where only this machine reaches them."""
    if settings.host in LOOPBACK:
        return ""
    return (
        f"{listener} on {settings.host} without a key: anyone who reaches that address may use "
        "the models. --host of colocate emit changes the address."
    )


def _asleep(fleetwide: Fleetwide) -> list[str]:
    """Return sentences on the models that the plan leaves asleep, and how to make room for them."""
    engine = fleetwide.settings.engine
    lines = []
    for spec in fleetwide.asleep:
        lines.append(f"Asleep in this plan, so not started: {spec.name}")
        lines.append(
            f"To start it where there is room: {shlex.join(command_by_hand(spec, engine))}"
        )
    return [*lines, _making_room(fleetwide)] if lines else []


def _making_room(fleetwide: Fleetwide) -> str:
    """Return which engines can make room for a model that sleeps."""
    engine = fleetwide.settings.engine
    paths = PATHS[engine]
    may = dict.fromkeys(la.model for la in fleetwide.launches if la.can_sleep)
    if not may:
        return (
            "No engine of this plan can make room by sleeping: that needs may_sleep: true of its "
            "model in the fleet file."
        )
    return (
        f"These can make room for it: {', '.join(may)}. POST {paths['sleep']} to an engine frees "
        f"its GPU, and POST {paths['wake_up']} brings it back."
    )
