"""The part of a script under MPS that is the same for every plan.

One client of MPS that dies can take its neighbours with it, and then MPS takes no new ones until
all of them have ended. So the engines of a GPU are watched, and restarted together.
"""

from colocate.outputs.emit.targets.mps_daemons import DAEMONS
from colocate.outputs.emit.targets.shell_functions import START, STAY

_WATCH_GROUPS = r"""
daemons=() shared=() reviving=""
declare -A revivals=()
# How often an hour the engines of a GPU are restarted because one of them has died.
RESTARTS="${RESTARTS:-5}"

mps() { # name of a daemon, the GPUs that engines share under it
  daemons+=("$1") shared+=(" $2 ")
}

daemon_of() { # number of an engine; prints its daemon, nothing if it has its GPUs to itself
  local place gpu="${gpus[$1]# }"
  for place in "${!daemons[@]}"; do
    [[ "${shared[place]}" != *" ${gpu%% *} "* ]] || printf '%s' "${daemons[place]}"
  done
}

has_died() { # number of an engine; one that was stopped has no record of its process
  [[ -e "$LOGS/${names[$1]}.pid" && -z "$(process_of "$1")" ]]
}

is_hopeless() { # number of an engine; whether restarts have not helped within the last hour
  local daemon time recent=()
  daemon="$(daemon_of "$1")"
  [[ "$daemon" ]] || return 0
  for time in ${revivals[$daemon]-}; do
    ((SECONDS - time > 3600)) || recent+=("$time")
  done
  revivals[$daemon]="${recent[*]-}"
  ((${#recent[@]} >= RESTARTS))
}

revive() { # number of an engine that has died; restarts all that share its GPUs
  local chosen=("$1") daemon
  sleep 3 # its neighbours may die of it, or another call of this script has it in hand
  has_died "$1" || return 0
  daemon="$(daemon_of "$1")"
  with_neighbours
  until is_hopeless "$1"; do
    say "${names[$1]} has died: restarting all engines under $daemon, since MPS does not keep" \
      "them apart"
    revivals[$daemon]+=" $SECONDS"
    end "${chosen[@]}"
    (
      # What it started last may have no record yet.
      trap 'kill -- "-$!" "$!" 2>/dev/null || true; exit 143' TERM
      start_some
    ) &
    reviving="$!"
    if wait "$reviving"; then
      reviving=""
      return 0
    fi
  done
  reviving=""
  end "${chosen[@]}"
  return 1
}

watch_all() { # restarts the engines of a GPU when one has died, and fails once all have ended
  local number alive=yes said=" "
  while [[ "$alive" == yes ]]; do
    sleep 1
    alive=no
    for number in "${!names[@]}"; do
      if [[ "$(process_of "$number")" ]]; then
        alive=yes said="${said/ $number / }"
      elif has_died "$number" && ! is_hopeless "$number" && revive "$number"; then
        alive=yes
      elif [[ "$said" != *" $number "* ]]; then
        said+="$number "
        say "${names[number]} has ended, see $LOGS/${names[number]}.log;" \
          "$0 restart ${names[number]} starts it again"
      fi
    done
  done
  return 1
}

stop_at_exit() {
  trap - EXIT
  if [[ "$reviving" ]]; then
    kill "$reviving" 2>/dev/null || true
    wait "$reviving" || true
  fi
  end "${!names[@]}"
  stop_mps
}

"""

_WITH_MPS = r"""
in_use() { # name of a daemon; whether one of its engines runs
  local number
  for number in "${!names[@]}"; do
    [[ "$(daemon_of "$number")" != "$1" || -z "$(process_of "$number")" ]] || return 0
  done
  return 1
}

start_mps() { # for what is chosen; a daemon that no engine uses may be one that has failed
  local number name
  for name in "${daemons[@]}"; do
    for number in "${chosen[@]}"; do
      [[ "$(daemon_of "$number")" == "$name" ]] || continue
      in_use "$name" || stop_daemon "$name"
      start_daemon "$name"
      break
    done
  done
}

stop_mps() {
  local name
  for name in "${daemons[@]}"; do
    in_use "$name" || stop_daemon "$name"
  done
}
"""

FUNCTIONS_WITH_MPS = START + _WATCH_GROUPS + STAY + DAEMONS + _WITH_MPS
"""Engines that share GPUs under MPS: when one dies, those with it are restarted together."""
