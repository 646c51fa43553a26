#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # names may look like escapes and variables
# Starts the engines of a colocate plan on alpha (vllm; memory: moved by kvcached).
# Runs as long as they do; Ctrl-C stops them all.
# With start, stop, restart or status and names of engines, does that and ends.
# Engines listen on 0.0.0.0 without a key: anyone who reaches that address may use the models. --host of colocate emit changes the address.
# NOTE: A100-80GB does not calculate in fp8: weights are widened to 16 bits before use, which saves memory but no time (dtype of 'llama-3.1-70b')
# NOTE: A100-80GB runs keys and values in fp8 only with the FlashInfer attention backend (kv_dtype of 'llama-3.1-70b')
# Asleep in this plan, so not started: qwen2.5-32b
# To start it where there is room: env VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen2.5-32B-Instruct --served-model-name=qwen2.5-32b --enable-sleep-mode
# No engine of this plan can make room by sleeping: that needs may_sleep: true of its model in the fleet file.
set -euo pipefail

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

start_mps() { :; }
stop_mps() { :; }

# Seconds that an engine may take until it answers.
READY_SECONDS="${READY_SECONDS:-1310}"
ADDRESS=127.0.0.1
# Whether the engines of a GPU are restarted together.
TOGETHER=no

# llama-3.1-70b on a-1, a-0, wave 1
engine llama-3-1-70b 8000 1 '1 0' env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 ENABLE_KVCACHED=true KVCACHED_AUTOPATCH=1 KVCACHED_IPC_NAME=llama-3-1-70b KVCACHED_GPU_UTILIZATION=0.9411 \
  vllm serve meta-llama/Llama-3.1-70B-Instruct \
  --served-model-name=llama-3.1-70b \
  --host=0.0.0.0 \
  --port=8000 \
  --quantization=fp8 \
  --kv-cache-dtype=fp8 \
  --tensor-parallel-size=2 \
  --max-num-seqs=256 \
  --max-model-len=32768

# llama-3.1-8b on a-2, wave 1
engine llama-3-1-8b 8001 1 2 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 ENABLE_KVCACHED=true KVCACHED_AUTOPATCH=1 KVCACHED_IPC_NAME=llama-3-1-8b KVCACHED_GPU_UTILIZATION=0.9411 \
  vllm serve meta-llama/Llama-3.1-8B-Instruct \
  --served-model-name=llama-3.1-8b \
  --host=0.0.0.0 \
  --port=8001 \
  --dtype=bfloat16 \
  --max-num-seqs=256

# llama-3.1-8b on a-0, wave 2
engine llama-3-1-8b-2 8002 2 0 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 ENABLE_KVCACHED=true KVCACHED_AUTOPATCH=1 KVCACHED_IPC_NAME=llama-3-1-8b-2 KVCACHED_GPU_UTILIZATION=0.9411 \
  vllm serve meta-llama/Llama-3.1-8B-Instruct \
  --served-model-name=llama-3.1-8b \
  --host=0.0.0.0 \
  --port=8002 \
  --dtype=bfloat16 \
  --max-num-seqs=256

# Qwen/Qwen2.5-7B-Instruct on a-2, wave 2
engine qwen-qwen2-5-7b-instruct 8004 2 2 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 ENABLE_KVCACHED=true KVCACHED_AUTOPATCH=1 KVCACHED_IPC_NAME=qwen-qwen2-5-7b-instruct KVCACHED_GPU_UTILIZATION=0.9411 \
  vllm serve Qwen/Qwen2.5-7B-Instruct \
  --served-model-name=Qwen/Qwen2.5-7B-Instruct \
  --host=0.0.0.0 \
  --port=8004 \
  --max-num-seqs=256

main "$@"
