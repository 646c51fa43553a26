"""Cores of their own for engines that share a GPU.

What a machine has is not known when files are written, so an engine looks when it starts. All
processes of engines that share GPUs get equal parts of the cores that it may use. Threads of one
core stay together, and so do cores of one NUMA node. A machine with fewer cores than processes
pins nothing.
"""

from colocate.outputs.emit.engines.mps import ProcessShare

PINNED = """\
first="$1" past=$(($1 + $2)) all="$3" allowed=" " cpus=()
shift 3
for range in $(taskset --cpu-list --pid $$ | sed 's/.*: //; s/,/ /g'); do
  for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do allowed+="$cpu "; done
done
while IFS=, read -r cpu _; do
  [[ "$allowed" != *" $cpu "* ]] || cpus+=("$cpu")
done < <(lscpu --parse=CPU,CORE,NODE | grep -v '^#' | sort -t, -k3,3n -k2,2n -k1,1n)
count=${#cpus[@]}
if ((count < all)); then
  echo "$0 is not pinned: $count cores for $all processes" >&2
  exec "$@"
fi
from=$((first * count / all)) to=$((past * count / all))
mine="${cpus[*]:from:to-from}"
exec taskset --cpu-list "${mine// /,}" "$@"
"""
"""Takes the first of the engine's processes, their number, that of all, and a command."""


def pinned(share: ProcessShare | None, name: str, program: str = PINNED) -> list[str]:
    """Return the words to put before the command of an engine; none where it is not pinned.

    Parameters
    ----------
    share
        Which part of the cores it gets, if any.
    name
        What it is called.
    program
        What stands for the program itself.
    """
    return ["bash", "-c", program, name, *share.words] if share else []
