"""What a person must know before the engines of a plan are started."""

import re
from collections.abc import Iterable, Iterator, Sequence

from colocate.fault import shown
from colocate.outputs.emit.emission import asleep_lines
from colocate.outputs.emit.engine_options import engine_options
from colocate.outputs.emit.launch import Fleetwide, Launch
from colocate.outputs.emit.settings import EmitSettings, Engine
from colocate.outputs.emit.shares import FLOOR_GB, KEPT_FREE
from colocate.outputs.emit.weight_formats import (
    format_name,
    full_weights_gb,
    has_argument,
    made_while_loading,
    must_be_on_disk,
)

HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+|\.{0,2}/.*|~.*")
"""Names that can be loaded as they are: of the Hugging Face hub, or paths."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_NAMES = 5
LESS_AT_LOADING = {
    Engine.VLLM: "use vLLM 0.16 or newer, which needs less, or a source that is fp8 on disk",
    Engine.SGLANG: "use a source that is fp8 on disk",
}


def cautions(fleetwide: Fleetwide, launches: Sequence[Launch] | None = None) -> tuple[str, ...]:
    """Return sentences on what may not start as planned.

    Parameters
    ----------
    fleetwide
        All engines.
    launches
        Those that sentences are wanted on; by default all.
    """
    found = fleetwide.launches if launches is None else launches
    once = list({launch.model: launch for launch in reversed(found)}.values())[::-1]
    return (
        *_not_on_disk(once),
        *_large_at_loading(found, fleetwide.settings.engine),
        *_tight(fleetwide, found),
        *_in_float16(found, fleetwide.settings),
        *_without_source(once),
    )


def comments_on(
    fleetwide: Fleetwide, launches: Sequence[Launch], door: str | None = None
) -> list[str]:
    """Return what the head of a file says: who may use it, what may fail, what is asleep.

    Parameters
    ----------
    fleetwide, launches
        All engines, and those of the file.
    door
        Who may use the engines; None where that is whoever reaches their address.
    """
    locked = all(has_argument(launch.args, "--api-key") for launch in launches)
    doors = [] if locked else [open_door(fleetwide.settings) if door is None else door]
    noted = (f"NOTE: {sentence}" for sentence in cautions(fleetwide, launches))
    return [*filter(None, doors), *noted, *asleep_lines(fleetwide)]


def open_door(settings: EmitSettings, listener: str = "Engines listen") -> str:
    """Return a sentence on who may use what listens, empty where that is this machine alone."""
    if settings.host in LOOPBACK:
        return ""
    return (
        f"{listener} on {settings.host}, without a key: whoever reaches that may use the models. "
        "--host of colocate emit changes it."
    )


def _not_on_disk(launches: Iterable[Launch]) -> Iterator[str]:
    for launch in launches:
        spec = launch.spec
        if must_be_on_disk(spec, launch.args):
            dtype = shown(spec.dtype)
            yield (
                f"model {shown(launch.model)}: source must be a checkpoint that is already "
                f"{dtype}, and nothing says that {shown(launch.source)} is one: engines cannot "
                f"make {dtype} while loading and would hold up to {full_weights_gb(spec):.3g} GB "
                f"on each GPU instead of {launch.share.size_gb:.3g}; name such a checkpoint or say "
                "quantised_on_disk: true"
            )


def _large_at_loading(launches: Iterable[Launch], engine: Engine) -> Iterator[str]:
    said = set()
    for launch in launches:
        needed, free = full_weights_gb(launch.spec), launch.share.free_gb
        made = made_while_loading(launch.spec, launch.args) == "fp8"
        if made and needed > free and launch.model not in said:
            said.add(launch.model)
            yield (
                f"model {shown(launch.model)} is made fp8 while it is loaded, which may hold up to "
                f"{needed:.3g} GB on each GPU for a while, and only {free:.3g} GB are free then: "
                f"{LESS_AT_LOADING[engine]}"
            )


def _tight(fleetwide: Fleetwide, launches: Iterable[Launch]) -> Iterator[str]:
    for gpu in dict.fromkeys(gpu for launch in launches for gpu in launch.gpus):
        room = fleetwide.rooms[gpu]
        if room.tight:
            yield (
                f"gpu {shown(gpu)} has {room.left_gb:.3g} GB left beside its models, should have "
                f"{FLOOR_GB * room.engines:.3g} for the cache of {room.engines} engines and "
                f"{KEPT_FREE * room.total_gb:.3g} free: it has {room.cache_gb:.3g} and "
                f"{room.free_gb:.3g}, so engines may run out of memory; plan with reserve_gb for "
                "it, with fewer models on it, or with a larger GPU"
            )


def _in_float16(launches: Iterable[Launch], settings: EmitSettings) -> Iterator[str]:
    changed: dict[tuple[str, ...], dict[str, None]] = {}
    for launch in launches:
        told = engine_options(launch, settings).get("dtype")
        if launch.kinds_without_bf16 and told == "float16" != _asked(launch):
            changed.setdefault(launch.kinds_without_bf16, {})[launch.model] = None
    for kinds, models in changed.items():
        older = " and ".join(map(shown, kinds))
        yield f"no bf16 on {older}, so what runs there is in float16: {_listed(models)}"


def _asked(launch: Launch) -> str:
    return "float16" if format_name(launch.spec.dtype) == "fp16" else ""


def _without_source(launches: Iterable[Launch]) -> Iterator[str]:
    missing = [
        launch.model
        for launch in launches
        if launch.spec.source is None and not HUB_NAME.fullmatch(launch.model)
    ]
    if missing:
        loaded = shown(missing[0]) if len(missing) == 1 else "these names"
        yield (
            f"no source given for {_listed(missing)}: engines are told to load {loaded}, neither "
            "of the Hugging Face hub by its form nor a path; give source in the fleet file"
        )


def _listed(names: Iterable[str]) -> str:
    told = list(map(shown, names))
    more = [f"{len(told) - MOST_NAMES} more"] if len(told) > MOST_NAMES else []
    return ", ".join([*told[:MOST_NAMES], *more])
