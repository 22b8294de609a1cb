#!/bin/sh
# Creates the event definitions of a tracking plan, one JSON body per line; by default the shop's plan beside this script.
#
#   GATEWAY_KEY=wgk_... sh create-tracking-plan.sh [plan.ndjson]
#
# GATEWAY_URL  address of the gateway (default http://127.0.0.1:4000)
# GATEWAY_KEY  API key with the scope behavioral_events.event_definitions.read_write
#
# Every line carries an Idempotency-Key made from its text, so a run that was cut short can be repeated within 24 hours
# without creating anything twice. After that a definition without a name of its own would be created again under a
# numbered name; one with a name answers 409, which counts as already there.
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
      --header "Idempotency-Key: tracking-plan-$(printf '%s' "$1" | cksum | tr ' ' '-')" \
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
      name=$(printf '%s' "$body" | sed -n 's/.*"fullyQualifiedName": *"pe[0-9]*_\([a-z0-9_]*\)".*/\1/p')
      printf '201 %s\n' "$name"
      ;;
    409)
      present=$((present + 1))
      printf '409 %s (already there)\n' "$label"
      ;;
    *)
      failed=$((failed + 1))
      printf '%s %s: %s\n' "$status" "$label" "$body" >&2
      ;;
  esac
done <"$plan"

printf '%d created, %d already there, %d failed\n' "$created" "$present" "$failed"
[ "$failed" -eq 0 ]
