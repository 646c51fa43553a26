#!/usr/bin/env bash
# Stands for every command that a script of steps calls. An engine that runs is a file in
# $FAKE/run, one that the gateway knows a file in $FAKE/open; each call is a line of $FAKE/calls,
# and what runs after it a line of $FAKE/states. $FAKE/polls has how often metrics were asked for;
# the first $BUSY times they tell of a request that waits, or with BUSY=dark nobody answers.
set -u
said="$(basename "$0") $*"
echo "$said" >>"$FAKE/calls"
if [ -n "${FAIL:-}" ] && [[ "$said" == *"$FAIL"* ]] && [ ! -e "$FAKE/failed" ]; then
  touch "$FAKE/failed"
  echo "fails as asked: $said" >&2
  exit 1
fi
fault() { echo "$*" >>"$FAKE/faults"; }
runs() { [ ! -e "$FAKE/run/$1" ] || fault "runs twice: $1"; touch "$FAKE/run/$1"; }
ends() { [ -e "$FAKE/run/$1" ] || fault "does not run: $1"; rm -f "$FAKE/run/$1"; }
engine_at() { # URL: the name of the engine
  local port="${1##*:}"
  grep " ${port%%/*}\$" "$FAKE/ports" | cut -d' ' -f1
}
metrics() { # NAME: a page that is larger than a pipe holds, with what counts at its top
  echo "$1" >>"$FAKE/polls"
  [ "${BUSY:-0}" != dark ] || exit 22
  local waiting=0
  [ "$(wc -l <"$FAKE/polls")" -gt "${BUSY:-0}" ] || waiting=1
  [ -e "$FAKE/run/$1" ] || fault "no metrics: $1"
  echo 'vllm:num_requests_running{model_name="has 1 request} 2"} 0.0'
  echo "vllm:num_requests_waiting{model_name=\"m\"} $waiting.0"
  printf 'vllm:other_bucket{le="%s"} 12345.0\n' {1..4000}
}
last="${!#}"
case "$said" in
  ssh*)
    [[ "$2" != *"test -e"* || "$1" != "${MISSING:-}" ]] || exit 1
    cd "$FAKE/home" && eval "$2"
    exit
    ;;
  "gateway open "*) touch "$FAKE/open/${last//\//_}" ;;
  "gateway close "*) rm "$FAKE/open/${last//\//_}" || fault "was not open: $last" ;;
  *".sh start "*) runs "$last"; touch "$LOGS/$last.pid" ;;
  *".sh stop "*) ends "$last"; rm "$LOGS/$last.pid" || fault "not in these logs: $last" ;;
  "docker compose --file "*" up --detach --no-deps "*) [ -e "$3" ] || exit 1; runs "$last" ;;
  "docker compose --file "*" rm --stop --force "*) [ -e "$3" ] || exit 1; ends "$last" ;;
  "systemctl start --no-block "*) [ -e "$UNITS/$last" ] || exit 1; name="${last#colocate-}"; runs "${name%.service}" ;;
  "systemctl stop "*) [ -e "$UNITS/$last" ] || exit 5; name="${last#colocate-}"; ends "${name%.service}" ;;
  "kubectl apply "*"--selector app.kubernetes.io/name="*) [ -e "$3" ] || exit 1; runs "${last#*=}" ;;
  "kubectl delete deployment/"*)
    name="${2#deployment/}"
    if [ -e "$FAKE/run/$name" ]; then ends "$name"; elif [[ "$said" != *--ignore-not-found* ]]; then exit 1; fi
    ;;
  "kubectl get --raw "*) name="${last#*/services/}"; metrics "${name%%:*}" ;;
  "python "*"launch.py --config "*) [ -e "$last" ] || exit 1; name="$(basename "$last" .yaml)"; runs "${name#*-}" ;;
  "tmux kill-session -t =kvcached-frontend") ;;
  "tmux new-session -d -s kvcached-frontend "*) cp "$9" "$FAKE/router" || exit 1 ;;
  "tmux has-session -t =kvcached-"*) [ -e "$FAKE/run/${last#=kvcached-}" ] || exit 1 ;;
  "tmux kill-session -t =kvcached-"*) [ -e "$FAKE/run/${last#=kvcached-}" ] || exit 1; ends "${last#=kvcached-}" ;;
  curl*/metrics) metrics "$(engine_at "$last")" ;;
  curl*/health) name="$(engine_at "$last")"; [ -n "$name" ] && [ -e "$FAKE/run/$name" ] || exit 7 ;;
esac
(cd "$FAKE/run" && echo * >>"$FAKE/states")
