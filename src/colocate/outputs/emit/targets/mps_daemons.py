"""Shell functions for the daemons of MPS, and a script of them for targets without their own."""

from collections.abc import Mapping, Sequence

from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.engines.launch import Fleetwide, Launch
from colocate.outputs.emit.engines.mps import FOLDER
from colocate.outputs.emit.targets.file_head import comment_lines
from colocate.outputs.emit.targets.node_files import by_node

DAEMONS = (
    r"""
# Where the daemons of MPS and their engines meet.
MPS="${MPS:-"""
    + FOLDER
    + r"""}"

ask_daemon() { # name, then a command; prints the answer, and fails if there is none
  CUDA_MPS_PIPE_DIRECTORY="$MPS/$1" timeout 20 nvidia-cuda-mps-control <<<"$2" 2>/dev/null
}

daemon_runs() {
  [[ -d "$MPS/$1" ]] && ask_daemon "$1" get_server_list >/dev/null
}

stop_daemon() { # name; its engines have ended by now
  ! daemon_runs "$1" || ask_daemon "$1" 'quit -t 10' >/dev/null || true
  rm -rf -- "${MPS:?}/$1"
}

start_daemon() { # name; removes what one that was killed has left
  local logs
  if ! command -v nvidia-cuda-mps-control >/dev/null; then
    say "nvidia-cuda-mps-control is not installed; it comes with the driver of NVIDIA." \
      "Install it, or give colocate emit --sharing slices"
    exit 1
  fi
  (umask 077 && mkdir -p -- "$MPS")
  if [[ ! -O "$MPS" || -L "$MPS" ]]; then
    say "$MPS is not yours, and MPS serves one user; set MPS to a folder of your own"
    exit 1
  fi
  ! daemon_runs "$1" || return 0
  rm -rf -- "${MPS:?}/$1"
  mkdir -p -- "$MPS/$1" "$LOGS/mps-$1"
  logs="$(cd -- "$LOGS/mps-$1" && pwd)"
  CUDA_MPS_PIPE_DIRECTORY="$MPS/$1" CUDA_MPS_LOG_DIRECTORY="$logs" \
    CUDA_DEVICE_ORDER=PCI_BUS_ID nvidia-cuda-mps-control -d >&2 || true
  if ! daemon_runs "$1"; then
    say "MPS did not start for $1; the end of $logs/control.log:"
    tail -n 20 -- "$logs/control.log" >&2 || true
    exit 1
  fi
  say "MPS runs for $1"
}
"""
)

_SCRIPT = r"""
main() { # what to do
  local name down=0
  mkdir -p -- "$LOGS"
  for name in "${daemons[@]}"; do
    case "${1:-}" in
      start) start_daemon "$name" ;;
      stop) stop_daemon "$name" ;;
      status)
        if daemon_runs "$name"; then
          echo "MPS runs for $name"
        else
          echo "MPS does not run for $name"
          down=1
        fi
        ;;
      *)
        say "usage: $0 start|stop|status"
        exit 2
        ;;
    esac
  done
  return "$down"
}

main "$@"
"""


def daemon_scripts(
    fleetwide: Fleetwide, names: Mapping[str, Sequence[str]], comments: Sequence[str]
) -> tuple[EmittedFile, ...]:
    """Return a script for each machine that starts and stops daemons only.

    Parameters
    ----------
    fleetwide
        All engines.
    names
        The daemons of each machine, by its name.
    comments
        When to run it.
    """

    def text_of(node: str, _: list[Launch]) -> str:
        where = f" on {node}" if node else ""
        head = comment_lines([f"MPS for the engines of a colocate plan{where}.", *comments])
        return (
            f'#!/usr/bin/env bash\n{head}set -euo pipefail\n\nLOGS="${{LOGS:-logs}}"\n'
            f"daemons=({' '.join(names[node])})\n\nsay() {{\n  printf '%s\\n' \"$*\" >&2\n}}\n"
            f"{DAEMONS}{_SCRIPT}"
        )

    files = by_node(fleetwide, "mps", ".sh", text_of, executable=True)
    return tuple(file for file in files if names[file.node])
