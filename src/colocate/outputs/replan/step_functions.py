"""The part of a script of steps that is the same for every plan and target."""

FUNCTIONS = """\
#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2034,SC2086,SC2317 # commands are shown as they are, SWITCH may have
# arguments, and not every target needs every function and variable
# {head}
# OLD and NEW are the folders with the files of the old and of the new plan. Every machine has the
# files of its engines under the same absolute paths as this one: copy the folder of this script,
# and that of the old plan, to each. Before step one the script checks that they are there.
# SWITCH is a command that gets open or close, the model, and the address of an engine: it tells
# your gateway where to send requests.
# `undo STEP` takes a step back; the last one comes first. Set the same variables then.
set -euo pipefail
HERE="$(cd -- "$(dirname "$0")" >/dev/null && pwd)"
absolute() {{ # PATH: a relative one begins where the script was started
  case "$1" in /*) printf '%s' "$1" ;; *) printf '%s' "$PWD/$1" ;; esac
}}
# How metrics tell of requests in work and waiting, and of more than none.
REQUESTS='^(vllm:num_requests_(running|waiting)|sglang:num_(running|queue)_reqs)(\\{{.*\\}})? '
REQUESTS_LEFT="$REQUESTS"'[0-9.]*[1-9][0-9.e+]*( [0-9]+)?$'
OLD="$(absolute "${{OLD:-$HERE/old}}")" NEW="$(absolute "${{NEW:-$HERE/new}}")"
SWITCH="${{SWITCH:-echo switch}}" DONE="$(absolute "${{DONE:-$HERE/steps.done}}")"
READY_SECONDS="${{READY_SECONDS:-1800}}" DRAIN_SECONDS="${{DRAIN_SECONDS:-300}}"
# For vllm and sglang: where engines note their processes, on every machine. It is the folder logs
# where you started the engines that run, and it stays the same from change to change.
LOGS="$(absolute "${{LOGS:-$OLD/logs}}")"
export LOGS
# For systemd: where units are.
UNITS="${{UNITS:-/etc/systemd/system}}"
# For kvcached: the folder of its controller, and that with a file for each engine.
CONTROLLER="$(absolute "${{CONTROLLER:-$HERE/controller}}")"
ENGINES="$(absolute "${{ENGINES:-$HERE/engines}}")"
BACK="" back_what="" back_by="" found=""
case "$#:${{1:-}}" in
  0:) ;;
  2:undo) BACK="$2" ;;
  *) echo "usage: $0 [undo STEP]" >&2; exit 2 ;;
esac
cd "$HERE"
touch "$DONE"

on() {{ # NODE COMMAND...: here if the node has no name or this one, else over ssh
  local node="$1"; shift
  if [ -z "$node" ] || [ "$node" = "$(hostname)" ]; then
    "$@"
  else
    # shellcheck disable=SC2029 # the words are quoted here, for the shell there
    ssh "$node" "$(printf '%q ' env "LOGS=$LOGS" "$@")"
  fi
}}

needs() {{ # NODE FILE: begin nothing without a file
  if on "$1" test -e "$2"; then return; fi
  echo "cannot find $2 on ${{1:-this machine}}: copy it there, or set the variable of its folder" \\
    "(see the top of this script)" >&2
  exit 1
}}

answers() {{ # NODE URL: wait until an engine answers, asked from a node
  local left="$READY_SECONDS"
  until on "$1" curl -fsS -o /dev/null --max-time 5 "$2/health"; do
    left=$((left - 5)); [ "$left" -gt 0 ] || return 1; sleep 5
  done
}}

finished() {{ # COMMAND...: wait until the metrics that a command prints show no request
  local end=$((SECONDS + DRAIN_SECONDS)) page why told=""
  while true; do
    if page="$("$@")" && grep -qE "$REQUESTS" <<<"$page"; then
      grep -qE "$REQUESTS_LEFT" <<<"$page" || return 0
      why="requests are still in work or waiting"
    else
      why="no metrics tell whether requests are in work"
      [ -n "$told" ] || echo "$why; asks again for up to $DRAIN_SECONDS s" >&2
      told=yes
    fi
    [ "$SECONDS" -lt "$end" ] || break
    sleep 2
  done
  echo "goes on after $DRAIN_SECONDS s (DRAIN_SECONDS): $why" >&2
}}

closed() {{ # NODE MODEL URL: send no more requests, and wait until those in work are done
  $SWITCH close "$2" "$3" || return 1
  finished on "$1" curl -fsS --max-time 5 "$3/metrics"
}}

noted() {{ # LINE: whether a line is in the notes on what is done
  grep -qxF -- "$1" "$DONE"
}}

refuse() {{ # WHY
  echo "$1" >&2
  exit 2
}}

step() {{ # NAME WHAT UNDO COMMAND...
  local name="$1" what="$2" undo="$3" again; shift 3
  if [ -n "$BACK" ]; then chosen "$name" "$what" "$undo"; return; fi
  if noted "$name"; then return; fi
  echo "step $name: $what"
  [ -z "$undo" ] || noted "begun $name" || echo "begun $name" >> "$DONE"
  if "$@"; then echo "$name" >> "$DONE"; return; fi
  echo "step $name failed: $what" >&2
  again="bash $(printf '%q' "$HERE/${{0##*/}}") undo"
  if [ -n "$undo" ]; then
    echo "to take it back: $again $name" >&2
  elif grep -qv '^begun ' "$DONE"; then
    echo "to take back the step before it: $again $(grep -v '^begun ' "$DONE" | tail -n 1)" >&2
  fi
  exit 1
}}

chosen() {{ # NAME WHAT UNDO: note the step to take back, unless a later one has begun
  if [ "$1" = "$BACK" ]; then
    found=yes back_what="$2" back_by="$3"
  elif [ -n "$found" ] && {{ noted "$1" || noted "begun $1"; }}; then
    refuse "step $1 came later: take it back first"
  fi
}}

ended() {{ # take back what was chosen, if anything was
  if [ -z "$BACK" ]; then return; fi
  [ -n "$found" ] || refuse "there is no step $BACK"
  noted "$BACK" || noted "begun $BACK" || refuse "step $BACK has not begun"
  echo "take back step $BACK: $back_what"
  if [ -n "$back_by" ] && ! eval "$back_by"; then
    echo "step $BACK is not taken back: $back_what" >&2
    exit 1
  fi
  rm -f "$DONE.left"
  # grep returns 1 if no line is left; anything else, such as a full disk, must not lose the notes
  grep -vxF -e "$BACK" -e "begun $BACK" "$DONE" > "$DONE.left" || [ "$?" -eq 1 ]
  mv "$DONE.left" "$DONE"
}}
"""

UNIT_FUNCTIONS = """
unit_started() { # NODE FILE UNIT: start a unit; the step after this one waits until it answers
  on "$1" install -m 644 "$2" "$UNITS/$3" &&
    on "$1" systemctl daemon-reload && on "$1" systemctl start --no-block "$3"
}

unit_stopped() { # NODE UNIT: systemctl returns once its processes have ended
  on "$1" systemctl stop "$2" || on "$1" test ! -e "$UNITS/$2" || return 1
  on "$1" rm -f "$UNITS/$2" && on "$1" systemctl daemon-reload
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
  if ! on "$1" tmux kill-session -t "=kvcached-$2"; then # it may have ended already
    if on "$1" tmux has-session -t "=kvcached-$2"; then return 1; fi
  fi
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
