#!/usr/bin/env bash
# MPS for the engines of a colocate plan on alpha.
# Engines that share a GPU compute at once, under MPS: run mps.sh start (with several machines, mps-NODE.sh; --out writes them) as the same user before the controller, and mps.sh stop after it.
set -euo pipefail

LOGS="${LOGS:-logs}"
daemons=(gpu-0 gpu-2)

say() {
  printf '%s\n' "$*" >&2
}

# Where the daemons of MPS and their engines meet.
MPS="${MPS:-/tmp/colocate-mps}"

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
