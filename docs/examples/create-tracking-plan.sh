#!/bin/sh
# Creates the event definitions of a tracking plan, one JSON body per line. By default it uses the plan of a shop in this folder.
#
#   GATEWAY_KEY=wgk_... sh create-tracking-plan.sh [plan.ndjson]
#
# GATEWAY_URL  address of the gateway (default http://127.0.0.1:4000)
# GATEWAY_KEY  API key with the scope behavioral_events.event_definitions.read_write
#
# Names are never reused, so you can run it again: it gets 409 for every existing name and continues. In your own plan, give each line a
# name: without one it is derived from the label, and every run creates a new, numbered one.
set -eu

url=${GATEWAY_URL:-http://127.0.0.1:4000}
: "${GATEWAY_KEY:?set GATEWAY_KEY to an API key}"
plan=${1:-$(dirname "$0")/shop-tracking-plan.ndjson}
newline='
'

# Prints the body of the answer, then its status on a separate line. The key is passed by standard input, because every user of the
# machine can read arguments.
create() {
  printf 'header = "Authorization: Bearer %s"\n' "$GATEWAY_KEY" |
    curl --silent --show-error --max-time 30 --config - \
      --header 'Content-Type: application/json' \
      --data-binary "$1" --write-out '\n%{http_code}' \
      "${url%/}/events/2026-03/event-definitions"
}

created=0 present=0 failed=0
while IFS= read -r definition || [ -n "$definition" ]; do
  [ -n "$definition" ] || continue
  label=$(printf '%s' "$definition" | sed 's/^{"label":"\([^"]*\)".*/\1/')
  answer=$(create "$definition") || exit 1
  status=${answer##*"$newline"}
  body=${answer%"$newline"*}
  case $status in
    201)
      created=$((created + 1))
      # The answer has one fully qualified name; "name" also occurs in every property.
      name=$(printf '%s' "$body" | sed -n 's/.*"fullyQualifiedName": *"\([a-z0-9_]*\)".*/\1/p')
      printf '201 %s: %s\n' "$label" "$name"
      ;;
    409)
      present=$((present + 1))
      printf '409 %s: %s\n' "$label" "$(printf '%s' "$body" | sed 's/.*"message": *"\([^"]*\)".*/\1/')"
      ;;
    *)
      failed=$((failed + 1))
      printf '%s %s: %s\n' "$status" "$label" "$body" >&2
      ;;
  esac
done <"$plan"

printf '%d created, %d with a name in use, %d failed\n' "$created" "$present" "$failed"
[ "$failed" -eq 0 ]
