#!/bin/sh
# For cron or a monitor: prints the errors of the last hour, and exits with 1 if there are any.
found=$(joelclaw otel list --level error,fatal --hours 1 --limit 20) || exit 2
echo "$found" | jq --raw-output '.result.events[] | "\(.ts) \(.action): \(.error // "no error text")"'
[ "$(echo "$found" | jq .result.found)" -eq 0 ]
