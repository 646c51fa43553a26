"""The part of a script of steps that is the same for every plan and target."""

FUNCTIONS = """\
#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2034,SC2086,SC2317 # commands are shown as they are, SWITCH may have
# arguments, and not every target needs every function and variable
# {head}
# OLD and NEW are the folders with the files of the old and of the new plan.
# SWITCH is a command that gets open or close, the model, and the address of an engine: it tells
# your gateway where to send requests.
set -euo pipefail
cd "$(dirname "$0")"
OLD="${{OLD:-old}}" NEW="${{NEW:-new}}" SWITCH="${{SWITCH:-echo switch}}"
DONE="${{DONE:-steps.done}}" READY_SECONDS="${{READY_SECONDS:-1800}}"
DRAIN_SECONDS="${{DRAIN_SECONDS:-300}}"
# For systemd: where units are.
UNITS="${{UNITS:-/etc/systemd/system}}"
# For kvcached: the folder of its controller.
CONTROLLER="${{CONTROLLER:-controller}}"
touch "$DONE"

on() {{ # NODE COMMAND...: here if the node has no name or this one, else over ssh
  local node="$1"; shift
  if [ -z "$node" ] || [ "$node" = "$(hostname)" ]; then
    "$@"
  else
    # shellcheck disable=SC2029 # the words are quoted here, for the shell there
    ssh "$node" "$(printf '%q ' "$@")"
  fi
}}

answers() {{ # NODE URL: wait until an engine answers, asked from a node
  local left="$READY_SECONDS"
  until on "$1" curl -fsS -o /dev/null --max-time 5 "$2/health"; do
    left=$((left - 5)); [ "$left" -gt 0 ] || return 1; sleep 5
  done
}}

finished() {{ # COMMAND...: wait until the metrics that a command prints show no request in work
  local left="$DRAIN_SECONDS"
  while [ "$left" -gt 0 ] && "$@" |
    grep -qE '^(vllm:num_requests_running|sglang:num_running_reqs).* [1-9]'; do
    left=$((left - 2)); sleep 2
  done
}}

closed() {{ # NODE MODEL URL: send no more requests, and wait until those in work are done
  $SWITCH close "$2" "$3" || return 1
  finished on "$1" curl -fsS --max-time 5 "$3/metrics"
}}

step() {{ # NUMBER WHAT UNDO COMMAND...
  local number="$1" what="$2" undo="$3"; shift 3
  if grep -qx "$number" "$DONE"; then return; fi
  echo "step $number: $what"
  if ! "$@"; then
    echo "step $number failed: $what" >&2
    [ -z "$undo" ] || echo "to take it back: $undo" >&2
    exit 1
  fi
  echo "$number" >> "$DONE"
}}
"""

UNIT_FUNCTIONS = """
unit_started() { # NODE FILE UNIT: start a unit; the step after this one waits until it answers
  on "$1" install -m 644 "$2" "$UNITS/$3" &&
    on "$1" systemctl daemon-reload && on "$1" systemctl start --no-block "$3"
}

unit_stopped() { # NODE UNIT: systemctl returns once its processes have ended
  on "$1" systemctl stop "$2" && on "$1" rm -f "$UNITS/$2" && on "$1" systemctl daemon-reload
}

units_grouped() { # NODE FILE TARGET: from now on a restart of the machine starts the new plan
  on "$1" install -m 644 "$2" "$UNITS/$3" &&
    on "$1" systemctl daemon-reload && on "$1" systemctl enable "$3"
}
"""

POD_FUNCTIONS = """
pod_left() { # SELECTOR MODEL NAME PORT LABEL: its Services send it no more requests
  kubectl label pods --selector "$1" "$5-" && $SWITCH close "$2" "http://$3" &&
    finished kubectl get --raw "/api/v1/namespaces/$(namespace)/services/$3:$4/proxy/metrics"
}

pod_joined() { # SELECTOR MODEL NAME LABEL VALUE: its Services send it requests
  kubectl label pods --overwrite --selector "$1" "$4=$5" && $SWITCH open "$2" "http://$3"
}

namespace() {
  local name
  name="$(kubectl config view --minify --output 'jsonpath={..namespace}')"
  printf '%s' "${name:-default}"
}
"""

ROUTER_FUNCTIONS = """
engine_stopped() { # NODE NAME URL: end the session of an engine, and wait until its port is free
  local left="$DRAIN_SECONDS" code
  on "$1" tmux kill-session -t "=kvcached-$2" || return 1
  while true; do
    code=0
    on "$1" curl -sS -o /dev/null --max-time 5 "$3/health" || code=$?
    [ "$code" -ne 7 ] || return 0 # nobody listens
    left=$((left - 1)); [ "$left" -gt 0 ] || return 1; sleep 1
  done
}

routed() { # NODE FILE PORT: the router reads its list at its start only, so it is started anew
  on "$1" tmux kill-session -t =kvcached-frontend || true
  on "$1" tmux new-session -d -s kvcached-frontend \\
    python -u "$CONTROLLER/frontend.py" --config_path "$2" --port "$3"
}

routed_to() { # NODE FILE PORT MODEL URL
  routed "$1" "$2" "$3" && $SWITCH open "$4" "$5"
}

routed_away() { # NODE FILE PORT MODEL URL
  routed "$1" "$2" "$3" && closed "$1" "$4" "$5"
}
"""
