"""The part of a script that is the same for every plan: it starts, stops and watches engines."""

START = r"""set -euo pipefail

# Where the output of engines goes, and the numbers of their processes.
LOGS="${LOGS:-logs}"
# Seconds that an engine may take to finish when it is stopped.
STOP_SECONDS="${STOP_SECONDS:-60}"
CURL_CANNOT_CONNECT=7

names=() ports=() waves=() gpus=() firsts=() lengths=() words=()

say() {
  printf '%s\n' "$*" >&2
}

engine() { # name, port, wave, its GPUs, then its command
  names+=("$1") ports+=("$2") waves+=("$3") gpus+=(" $4 ")
  shift 4
  firsts+=("${#words[@]}") lengths+=("$#")
  words+=("$@")
}

ask() { # port, further options; succeeds if an engine answers that it is well
  local port="$1"
  shift
  curl --silent --noproxy '*' --max-time 5 --output /dev/null "$@" "http://$ADDRESS:$port/health"
}

birth_of() { # process; prints when it began, nothing if it has ended
  local line fields
  line="$(cat "/proc/$1/stat" 2>/dev/null)" || return 0
  read -ra fields <<<"${line##*) }"
  [[ "${fields[0]}" == Z ]] || printf '%s' "${fields[19]}"
}

process_of() { # number of an engine; prints its process, nothing if it does not run
  local pid birth
  read -r pid birth <"$LOGS/${names[$1]}.pid" || return 0
  [[ -z "$birth" || "$(birth_of "$pid")" != "$birth" ]] || printf '%s' "$pid"
} 2>/dev/null

refuse_if_taken() { # numbers of engines; what listens there would be taken for one of them
  local number port code
  for number; do
    port="${ports[number]}" code=0
    ask "$port" || code=$?
    if ((code != CURL_CANNOT_CONNECT)); then
      say "port $port of $ADDRESS is in use already, by an earlier start or by something else;" \
        "stop that, or give colocate emit another --base-port"
      exit 1
    fi
  done
}

launch() { # number of an engine
  local name="${names[$1]}" pid
  refuse_if_taken "$1"
  say "starting $name, its output is in $LOGS/$name.log"
  setsid "${words[@]:firsts[$1]:lengths[$1]}" >"$LOGS/$name.log" 2>&1 </dev/null &
  pid="$!"
  printf '%s %s\n' "$pid" "$(birth_of "$pid")" >"$LOGS/$name.pid"
}

give_up() { # number of an engine, what happened
  local name="${names[$1]}"
  say "$name $2; the end of $LOGS/$name.log:"
  tail -n 20 -- "$LOGS/$name.log" >&2 || true
  end "$1"
  exit 1
}

wait_until_ready() { # number of an engine
  local name="${names[$1]}" port="${ports[$1]}" deadline=$((SECONDS + READY_SECONDS))
  until ask "$port" --fail; do
    [[ "$(process_of "$1")" ]] || give_up "$1" "ended before it answered"
    ((SECONDS < deadline)) || give_up "$1" "did not answer within $READY_SECONDS seconds"
    sleep 1
  done
  [[ "$(process_of "$1")" ]] || give_up "$1" "ended, and something else answers on port $port"
  say "$name answers on port $port"
}

end() { # numbers of engines; asks them all to finish, and makes those finish that do not
  local number pid deadline=$((SECONDS + STOP_SECONDS)) pids=()
  for number; do
    pid="$(process_of "$number")"
    if [[ "$pid" ]]; then
      pids[number]="$pid"
      kill "$pid" 2>/dev/null || true
    fi
  done
  for number in "${!pids[@]}"; do
    while [[ "$(process_of "$number")" ]] && ((SECONDS < deadline)); do
      sleep 0.2
    done
    # Its own processes, which may outlive it, are in its session.
    kill -KILL -- "-${pids[number]}" 2>/dev/null || true
    say "${names[number]} is stopped"
  done
  for number; do
    rm -f -- "$LOGS/${names[number]}.pid"
  done
}

start_in_waves() { # numbers of engines, in order; never two on one GPU at once
  local number wave=-1 started=()
  for number; do
    if ((waves[number] != wave)); then
      wait_for_all "${started[@]}"
      started=() wave="${waves[number]}"
    fi
    launch "$number"
    started+=("$number")
  done
  wait_for_all "${started[@]}"
}

wait_for_all() {
  local number
  for number; do
    wait_until_ready "$number"
  done
}

numbers_of() { # names of engines, by default all; puts their numbers in order into chosen
  local name number found
  chosen=()
  for name; do
    found=no
    for number in "${!names[@]}"; do
      [[ "${names[number]}" != "$name" ]] || found=yes
    done
    if [[ "$found" == no ]]; then
      say "there is no engine $name here; there are: ${names[*]}"
      exit 2
    fi
  done
  for number in "${!names[@]}"; do
    if (($# == 0)) || [[ " $* " == *" ${names[number]} "* ]]; then
      chosen+=("$number")
    fi
  done
}

with_neighbours() { # adds to chosen what shares a GPU with it, directly or through others
  local number all=" " gpu grown=yes
  for number in "${chosen[@]}"; do all+="${gpus[number]}"; done
  while [[ "$grown" == yes ]]; do
    grown=no
    for number in "${!names[@]}"; do
      [[ " ${chosen[*]} " != *" $number "* ]] || continue
      for gpu in ${gpus[number]}; do
        if [[ "$all" == *" $gpu "* ]]; then
          chosen+=("$number") all+="${gpus[number]}" grown=yes
          break
        fi
      done
    done
  done
  mapfile -t chosen < <(printf '%s\n' "${chosen[@]}" | sort -n)
}

start_some() { # starts what is chosen and does not run
  local number idle=()
  for number in "${chosen[@]}"; do
    if [[ "$(process_of "$number")" ]]; then
      say "${names[number]} runs already"
    else
      idle+=("$number")
    fi
  done
  ((${#idle[@]})) || return 0
  refuse_if_taken "${idle[@]}"
  start_mps
  start_in_waves "${idle[@]}"
}

show_status() { # fails if one of what is chosen does not answer
  local number pid state down=0
  for number in "${chosen[@]}"; do
    pid="$(process_of "$number")" state="does not run"
    if [[ "$pid" ]]; then
      state="runs as process $pid and does not answer"
      ! ask "${ports[number]}" --fail || state="answers, process $pid"
    fi
    [[ "$state" == answers* ]] || down=1
    printf '%s, port %s: %s\n' "${names[number]}" "${ports[number]}" "$state"
  done
  return "$down"
}
"""

_WATCH = r"""
watch_all() { # says when an engine ends, and fails once all have
  local number running=("${!names[@]}") still
  while ((${#running[@]})); do
    sleep 1
    still=()
    for number in "${running[@]}"; do
      if [[ "$(process_of "$number")" ]]; then
        still+=("$number")
      else
        say "${names[number]} has ended, see $LOGS/${names[number]}.log;" \
          "$0 restart ${names[number]} starts it again"
      fi
    done
    running=("${still[@]}")
  done
  return 1
}

stop_at_exit() {
  trap - EXIT
  end "${!names[@]}"
  stop_mps
}
"""

STAY = r"""
stay() { # starts everything, stays with it, and stops it in the end
  refuse_if_taken "${!names[@]}"
  trap stop_at_exit EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  start_mps
  start_in_waves "${!names[@]}"
  say "all ${#names[@]} answer"
  watch_all
}

main() { # nothing, or what to do and the names of engines
  local action="${1:-stay}"
  (($# == 0)) || shift
  command -v curl >/dev/null || {
    say "curl is not installed; it is needed to see whether an engine answers"
    exit 1
  }
  mkdir -p -- "$LOGS"
  numbers_of "$@"
  case "$action" in
    stay) stay ;;
    start) start_some ;;
    stop)
      end "${chosen[@]}"
      ((${#chosen[@]} < ${#names[@]})) || stop_mps
      ;;
    restart)
      [[ "$TOGETHER" == no ]] || with_neighbours
      end "${chosen[@]}"
      start_some
      ;;
    status) show_status ;;
    *)
      say "usage: $0 [start|stop|restart|status [ENGINE...]]"
      exit 2
      ;;
  esac
}
"""

_WITHOUT_MPS = """
start_mps() { :; }
stop_mps() { :; }
"""

FUNCTIONS = START + _WATCH + STAY + _WITHOUT_MPS
"""Engines that run on their own: one that ends is only said."""
