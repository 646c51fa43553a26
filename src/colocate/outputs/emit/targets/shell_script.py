"""A shell script that starts the engines of one machine, in waves, and stays with them.

Engines that share a GPU are never started at the same time: each looks at the memory that is free
when it starts, and would take its neighbour's for its own.
"""

import shlex
from itertools import groupby

from colocate.inputs.fleet import Fleet
from colocate.outputs.emit.emission import Emission
from colocate.outputs.emit.engines.cautions import cautions
from colocate.outputs.emit.engines.launch import Fleetwide, Launch, launches_of
from colocate.outputs.emit.engines.options import COMMANDS, command, device_environment, environment
from colocate.outputs.emit.settings import EmitSettings, Memory
from colocate.outputs.emit.targets.file_head import comment_lines, comments_on
from colocate.outputs.emit.targets.node_files import by_node
from colocate.solver.plan import Plan

EVERYWHERE = ("0.0.0.0", "::")

DIRECTIVE = "# shellcheck disable=SC1003,SC2016 # names may look like escapes and variables\n"
FUNCTIONS = r"""set -euo pipefail

# Seconds that an engine may take until it answers, and where its output goes.
READY_SECONDS="${READY_SECONDS:-1800}"
LOGS="${LOGS:-logs}"
CURL_CANNOT_CONNECT=7

mkdir -p -- "$LOGS"
names=()
pids=()

stop_all() {
  trap - EXIT
  if ((${#pids[@]})); then
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
  fi
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
  printf '%s\n' "$*" >&2
}

ask() { # port, further options; succeeds if an engine answers that it is well
  local port="$1"
  shift
  curl --silent --noproxy '*' --max-time 5 --output /dev/null "$@" "http://$ADDRESS:$port/health"
}

refuse_if_taken() { # ports; what listens there would be taken for an engine of this script
  local port code
  for port; do
    code=0
    ask "$port" || code=$?
    if ((code != CURL_CANNOT_CONNECT)); then
      say "port $port of $ADDRESS is in use already, by an earlier start or by something else;" \
        "stop that, or give colocate emit another --base-port"
      exit 1
    fi
  done
}

start() { # name, port, then the command
  local name="$1"
  refuse_if_taken "$2"
  shift 2
  say "starting $name, its output is in $LOGS/$name.log"
  "$@" >"$LOGS/$name.log" 2>&1 &
  pids+=("$!")
  names+=("$name")
}

give_up() { # name, what happened
  say "$1 $2; the end of $LOGS/$1.log:"
  tail -n 20 -- "$LOGS/$1.log" >&2 || true
  exit 1
}

wait_until_ready() { # number of the engine, port
  local name="${names[$1]}" pid="${pids[$1]}" deadline=$((SECONDS + READY_SECONDS))
  until ask "$2" --fail; do
    kill -0 "$pid" 2>/dev/null || give_up "$name" "ended before it answered"
    ((SECONDS < deadline)) || give_up "$name" "did not answer within $READY_SECONDS seconds"
    sleep 1
  done
  kill -0 "$pid" 2>/dev/null || give_up "$name" "ended, and something else answers on port $2"
  say "$name answers on port $2"
}

watch_all() { # says when an engine ends, and fails once all have
  local number
  while ((${#pids[@]})); do
    wait -n "${pids[@]}" || true
    for number in "${!pids[@]}"; do
      if ! kill -0 "${pids[number]}" 2>/dev/null; then
        say "${names[number]} has ended, see $LOGS/${names[number]}.log"
        unset "pids[number]"
      fi
    done
  done
  return 1
}

command -v curl >/dev/null || {
  say "curl is not installed; it is needed to see whether an engine answers"
  exit 1
}
"""


def emit_scripts(plan: Plan, fleet: Fleet, settings: EmitSettings) -> Emission:
    """Return one script for each machine.

    The parameters are those of `catalogue.emit`.
    """
    fleetwide = launches_of(plan, fleet, settings, settings.base_port)

    def text_of(node: str, launches: list[Launch]) -> str:
        return _script(fleetwide, node, launches)

    files = by_node(fleetwide, settings.engine, ".sh", text_of, executable=True)
    return Emission(files, cautions(fleetwide))


def _script(fleetwide: Fleetwide, node: str, launches: list[Launch]) -> str:
    settings = fleetwide.settings
    where = f"on {node}" if node else "on the machine of the plan"
    shared = "fixed for each engine" if settings.memory is Memory.STATIC else "moved by kvcached"
    head = comment_lines(
        [
            f"Starts the engines of a colocate plan {where} ({settings.engine}; memory: {shared}).",
            "Runs as long as they do; Ctrl-C stops them all.",
            *comments_on(fleetwide, launches),
        ]
    )
    address = "127.0.0.1" if settings.host in EVERYWHERE else settings.host
    address = f"[{address}]" if ":" in address else address
    numbers = {launch.name: number for number, launch in enumerate(_in_waves(launches))}
    waves = [
        _wave(fleetwide, list(wave), numbers)
        for _, wave in groupby(_in_waves(launches), lambda launch: launch.wave)
    ]
    ports = " ".join(str(launch.port) for launch in launches)
    end = f'say "all {len(launches)} answer"\nwatch_all\n'
    parts = [
        f"#!/usr/bin/env bash\n{DIRECTIVE}{head}{FUNCTIONS}",
        f"ADDRESS={shlex.quote(address)}\nrefuse_if_taken {ports}\n",
        *waves,
        end,
    ]
    return "\n".join(parts)


def _in_waves(launches: list[Launch]) -> list[Launch]:
    return sorted(launches, key=lambda launch: launch.wave)


def _wave(fleetwide: Fleetwide, wave: list[Launch], numbers: dict[str, int]) -> str:
    starts = "\n".join(_start(fleetwide, launch) for launch in wave)
    waits = "".join(f"wait_until_ready {numbers[la.name]} {la.port}\n" for la in wave)
    return f"{starts}\n{waits}"


def _start(fleetwide: Fleetwide, launch: Launch) -> str:
    settings = fleetwide.settings
    variables = {**device_environment(launch), **environment(launch, settings)}
    settings_of = [f"{name}={value}" for name, value in variables.items()]
    words = [shlex.quote(word) for word in command(launch, settings)]
    program = len(COMMANDS[settings.engine]) + 1
    first = shlex.join(["start", launch.name, str(launch.port), "env", *settings_of])
    gpus = ", ".join(launch.gpus)
    said = comment_lines([f"{launch.model} on {gpus}, wave {launch.wave + 1}"])
    return said + " \\\n  ".join([first, " ".join(words[:program]), *words[program:]]) + "\n"
