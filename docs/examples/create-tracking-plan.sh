#!/bin/sh
# Creates the event definitions of a tracking plan, one JSON body per line; by default the shop's plan beside this script.
#
#   GATEWAY_KEY=wgk_... sh create-tracking-plan.sh [plan.ndjson]
#
# GATEWAY_URL  address of the gateway (default http://127.0.0.1:4000)
# GATEWAY_KEY  API key with the scope behavioral_events.event_definitions.read_write
#
# A name is unique for ever, so a second run creates nothing twice: it is told 409 for every name that is in use and goes on.
# Give each line of a plan of your own a name, too: without one it is made from the label, and every run makes a new, numbered one.
set -eu

url=${GATEWAY_URL:-http://127.0.0.1:4000}
: "${GATEWAY_KEY:?set GATEWAY_KEY to an API key}"
plan=${1:-$(dirname "$0")/shop-tracking-plan.ndjson}
newline='
'

# Prints the body of the answer, then its status on a line of its own. The key goes in by standard input, because
# arguments can be read by every user of the machine.
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
      # The fully qualified name stands once in the answer, unlike "name", which every property has too.
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
