#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # names may look like escapes and variables
# Starts the engines of a colocate plan on alpha (sglang; memory: fixed for each engine).
# Runs as long as they do; Ctrl-C stops them all.
# Engines that share a GPU compute at once, under MPS. When one of them dies, the script restarts all that share its GPUs.
# With start, stop, restart or status and names of engines, does that and ends.
# Engines listen on 0.0.0.0 without a key: anyone who reaches that address may use the models. --host of colocate emit changes the address.
# NOTE: MPS gives up isolation: if an engine is killed at work, its neighbours on the GPU die of an illegal memory access, and MPS may take no new engine before all of them have ended. Let an engine finish its requests before you stop it, and restart the engines of a GPU together.
# NOTE: A100-80GB does not calculate in fp8: weights are widened to 16 bits before use, which saves memory but no time (dtype of 'llama-3.1-70b')
# NOTE: A100-80GB runs keys and values in fp8 only with the FlashInfer attention backend (kv_dtype of 'llama-3.1-70b')
# NOTE: SGLang refuses to start if one of its GPUs has less than 90% of the free memory of another. The GPUs of 'llama-3-1-70b' differ, so that check is off there (SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0): it does not notice memory that others hold.
# Asleep in this plan, so not started: qwen2.5-32b
# To start it where there is room: python3 -m sglang.launch_server --model-path=Qwen/Qwen2.5-32B-Instruct --served-model-name=qwen2.5-32b --enable-memory-saver --enable-weights-cpu-backup
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

# Seconds that an engine may take until it answers.
READY_SECONDS="${READY_SECONDS:-1310}"
ADDRESS=127.0.0.1
# Whether the engines of a GPU are restarted together.
TOGETHER=yes
# Starts SGLang with its share of what is free at that moment.
SHARE_OF_FREE='free="$(nvidia-smi ${1:+--id="$1"} --query-gpu=memory.free --format=csv,noheader,nounits |
  sort -n | head -n 1)" 2>/dev/null
need="$2"
shift 2
if [[ "$free" =~ ^[0-9]+$ ]]; then
  if ((need >= free)); then
    echo "needs $need MiB for weights and cache, and its fullest GPU has $free MiB free" >&2
    exit 1
  fi
  set -- "$@" "--mem-fraction-static=$(printf '"'"'0.%04d'"'"' $((need * 10000 / free)))"
fi
exec "$@"
'
# Starts an engine on cores of its own.
PINNED='first="$1" past=$(($1 + $2)) all="$3" allowed=" " cpus=()
shift 3
for range in $(taskset --cpu-list --pid $$ | sed '"'"'s/.*: //; s/,/ /g'"'"'); do
  for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do allowed+="$cpu "; done
done
while IFS=, read -r cpu _; do
  [[ "$allowed" != *" $cpu "* ]] || cpus+=("$cpu")
done < <(lscpu --parse=CPU,CORE,NODE | grep -v '"'"'^#'"'"' | sort -t, -k3,3n -k2,2n -k1,1n)
count=${#cpus[@]}
if ((count < all)); then
  echo "$0 is not pinned: $count cores for $all processes" >&2
  exec "$@"
fi
from=$((first * count / all)) to=$((past * count / all))
mine="${cpus[*]:from:to-from}"
exec taskset --cpu-list "${mine// /,}" "$@"
'
# The daemons of MPS, and the GPUs that engines share under each.
mps gpu-0 '0 1'
mps gpu-2 2

# llama-3.1-70b on a-1, a-0, wave 1
engine llama-3-1-70b 8000 1 '1 0' env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0 \
  CUDA_MPS_PIPE_DIRECTORY="$MPS/gpu-0" \
  bash -c "$PINNED" llama-3-1-70b 0 3 9 \
  bash -c "$SHARE_OF_FREE" llama-3-1-70b 1,0 39430 \
  python3 -m sglang.launch_server --model-path=meta-llama/Llama-3.1-70B-Instruct \
  --served-model-name=llama-3.1-70b \
  --host=0.0.0.0 \
  --port=8000 \
  --quantization=fp8 \
  --kv-cache-dtype=fp8_e4m3 \
  --tp-size=2 \
  --max-running-requests=256 \
  --context-length=32768 \
  --mem-fraction-static=0.48652

# llama-3.1-8b on a-2, wave 1
engine llama-3-1-8b 8001 1 2 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 \
  CUDA_MPS_PIPE_DIRECTORY="$MPS/gpu-2" \
  bash -c "$PINNED" llama-3-1-8b 5 2 9 \
  bash -c "$SHARE_OF_FREE" llama-3-1-8b 2 40996 \
  python3 -m sglang.launch_server --model-path=meta-llama/Llama-3.1-8B-Instruct \
  --served-model-name=llama-3.1-8b \
  --host=0.0.0.0 \
  --port=8001 \
  --dtype=bfloat16 \
  --max-running-requests=256 \
  --mem-fraction-static=0.505844

# llama-3.1-8b on a-0, wave 2
engine llama-3-1-8b-2 8002 2 0 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 \
  CUDA_MPS_PIPE_DIRECTORY="$MPS/gpu-0" \
  bash -c "$PINNED" llama-3-1-8b-2 3 2 9 \
  bash -c "$SHARE_OF_FREE" llama-3-1-8b-2 0 28263 \
  python3 -m sglang.launch_server --model-path=meta-llama/Llama-3.1-8B-Instruct \
  --served-model-name=llama-3.1-8b \
  --host=0.0.0.0 \
  --port=8002 \
  --dtype=bfloat16 \
  --max-running-requests=256 \
  --mem-fraction-static=0.767053

# Qwen/Qwen2.5-7B-Instruct on a-2, wave 2
engine qwen-qwen2-5-7b-instruct 8004 2 2 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 \
  CUDA_MPS_PIPE_DIRECTORY="$MPS/gpu-2" \
  bash -c "$PINNED" qwen-qwen2-5-7b-instruct 7 2 9 \
  bash -c "$SHARE_OF_FREE" qwen-qwen2-5-7b-instruct 2 27651 \
  python3 -m sglang.launch_server --model-path=Qwen/Qwen2.5-7B-Instruct \
  --served-model-name=Qwen/Qwen2.5-7B-Instruct \
  --host=0.0.0.0 \
  --port=8004 \
  --max-running-requests=256 \
  --mem-fraction-static=0.763116

main "$@"
