"""SGLang's share of the memory that is free at the moment when it starts.

`--mem-fraction-static` is a share of what is free then. The plan knows that for the order in which
it starts the engines of a GPU. An engine that is started again beside its neighbours finds less
free, so the share is computed from what nvidia-smi reports. Where there is no nvidia-smi, and on
GPUs of AMD, that of the plan holds.
"""

from math import ceil

from colocate.inputs.format_support import Maker
from colocate.outputs.emit.engines.launch import Launch
from colocate.outputs.emit.settings import EmitSettings, Engine

SHARE_OF_FREE = """\
free="$(nvidia-smi ${1:+--id="$1"} --query-gpu=memory.free --format=csv,noheader,nounits |
  sort -n | head -n 1)" 2>/dev/null
need="$2"
shift 2
if [[ "$free" =~ ^[0-9]+$ ]]; then
  if ((need >= free)); then
    echo "needs $need MiB for weights and cache, and its fullest GPU has $free MiB free" >&2
    exit 1
  fi
  set -- "$@" "--mem-fraction-static=$(printf '0.%04d' $((need * 10000 / free)))"
fi
exec "$@"
"""
"""Takes the numbers of GPUs (none for all), the MiB for weights and cache, and a command to
complete."""


def share_of_free(
    launch: Launch, settings: EmitSettings, gpus: str = "", program: str = SHARE_OF_FREE
) -> list[str]:
    """Return the words to put before the command of an engine; none where it fixes its memory.

    Parameters
    ----------
    launch
        The engine.
    settings
        Which engine it is, and how it shares memory.
    gpus
        The numbers of its GPUs; empty where it sees no others, as in a container.
    program
        What stands for the program itself.
    """
    if not depends_on_free_memory(launch, settings):
        return []
    return ["bash", "-c", program, launch.name, gpus, str(_static_mib(launch))]


def depends_on_free_memory(launch: Launch, settings: EmitSettings) -> bool:
    """Return whether an engine takes a share of what nvidia-smi says is free when it starts."""
    of_nvidia = launch.maker is Maker.NVIDIA
    return of_nvidia and settings.engine is Engine.SGLANG and not settings.elastic


def _static_mib(launch: Launch) -> int:
    """Return the MiB that the plan gives to weights and cache of a replica, on each of its GPUs."""
    return ceil(launch.share.static_fraction * launch.share.free_gb * 1e9 / 2**20)
