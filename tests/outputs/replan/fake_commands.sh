#!/usr/bin/env bash
# Stands for every command that a script of steps calls. An engine that runs is a file in
# $FAKE/run; each call is a line of $FAKE/calls, and what runs after it a line of $FAKE/states.
set -u
said="$(basename "$0") $*"
echo "$said" >>"$FAKE/calls"
if [ -n "${FAIL:-}" ] && [[ "$said" == *"$FAIL"* ]] && [ ! -e "$FAKE/failed" ]; then
  touch "$FAKE/failed"
  echo "fails as asked: $said" >&2
  exit 1
fi
runs() { [ ! -e "$FAKE/run/$1" ] || { echo "runs twice: $1" >>"$FAKE/faults"; }; touch "$FAKE/run/$1"; }
ends() { [ -e "$FAKE/run/$1" ] || { echo "does not run: $1" >>"$FAKE/faults"; }; rm -f "$FAKE/run/$1"; }
last="${!#}"
case "$said" in
  *".sh start "*) runs "$last" ;;
  *".sh stop "*) ends "$last" ;;
  "docker compose --file "*" up --detach --no-deps "*) [ -e "$3" ] || exit 1; runs "$last" ;;
  "docker compose --file "*" rm --stop --force "*) [ -e "$3" ] || exit 1; ends "$last" ;;
  "systemctl start --no-block "*) [ -e "$UNITS/$last" ] || exit 1; name="${last#colocate-}"; runs "${name%.service}" ;;
  "systemctl stop "*) name="${last#colocate-}"; ends "${name%.service}" ;;
  "kubectl apply "*"--selector app.kubernetes.io/name="*) [ -e "$3" ] || exit 1; runs "${last#*=}" ;;
  "kubectl delete deployment/"*) name="${2#deployment/}"; ends "$name" ;;
  "python "*"launch.py --config "*) [ -e "$last" ] || exit 1; name="$(basename "$last" .yaml)"; runs "${name#*-}" ;;
  "tmux kill-session -t =kvcached-frontend") ;;
  "tmux kill-session -t =kvcached-"*) ends "${last#=kvcached-}" ;;
  curl*)
    [[ "$last" == */health ]] || exit 0
    port="${last%/health}"
    name="$(grep " ${port##*:}\$" "$FAKE/ports" | cut -d' ' -f1)"
    [ -n "$name" ] && [ -e "$FAKE/run/$name" ] || exit 7
    ;;
esac
(cd "$FAKE/run" && echo * >>"$FAKE/states")
