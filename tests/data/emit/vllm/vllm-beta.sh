#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # names may look like escapes and variables
# Starts the engines of a colocate plan on beta (vllm; memory: fixed for each engine).
# Runs as long as they do; Ctrl-C stops them all.
# Engines listen on 0.0.0.0 without a key: anyone who reaches that address may use the models. --host of colocate emit changes the address.
# Asleep in this plan, so not started: qwen2.5-32b
# To start it where there is room: env VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen2.5-32B-Instruct --served-model-name=qwen2.5-32b --enable-sleep-mode
# No engine of this plan can make room by sleeping: that needs may_sleep: true of its model in the fleet file.
set -euo pipefail

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

ADDRESS=127.0.0.1
refuse_if_taken 8003 8005 8006

# llama-3.1-8b on b-0, wave 1
start llama-3-1-8b-3 8003 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 \
  vllm serve meta-llama/Llama-3.1-8B-Instruct \
  --served-model-name=llama-3.1-8b \
  --host=0.0.0.0 \
  --port=8003 \
  --dtype=bfloat16 \
  --max-model-len=-1 \
  --gpu-memory-utilization=0.7236 \
  --kv-cache-memory-bytes=14733000000

# canary on b-1, wave 1
start canary 8006 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3 \
  vllm serve /models/canary \
  --served-model-name=canary \
  --host=0.0.0.0 \
  --port=8006 \
  --max-model-len=-1 \
  --gpu-memory-utilization=0.95 \
  --kv-cache-memory-bytes=25600000000

wait_until_ready 0 8003
wait_until_ready 1 8006

# embedder on b-0, wave 2
start embedder 8005 env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 \
  vllm serve /models/embedder \
  --runner=pooling \
  --served-model-name=embedder \
  --host=0.0.0.0 \
  --port=8005 \
  --max-model-len=-1 \
  --gpu-memory-utilization=0.2263 \
  --kv-cache-memory-bytes=7866000000

wait_until_ready 2 8005

say "all 3 answer"
watch_all
