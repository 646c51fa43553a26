"""One file for each machine."""

from collections.abc import Callable

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.names import safe_names


def by_node(
    fleetwide: Fleetwide,
    stem: str,
    suffix: str,
    text_of: Callable[[str, list[Launch]], str],
    executable: bool = False,
) -> tuple[EmittedFile, ...]:
    """Return a file for each machine, named after it where machines have names.

    Parameters
    ----------
    fleetwide
        All engines.
    stem, suffix
        The beginning and the end of the file names.
    text_of
        Returns the text of a file, given the name of the machine and its engines.
    executable
        Whether the files are programs.
    """
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
