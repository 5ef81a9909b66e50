#!/bin/sh
# The end of a turn: saves the task, recalls when the context is warm, and stores the task when it is hot.
# Its arguments are the session, the context usage in percent, and the files that were edited; stdin is the prompt.
session=$1 percent=$2
shift 2
for file; do set -- "$@" --file "$file"; shift; done
joelclaw checkpoint save --session "$session" --percent "$percent" --message "$(cat)" "$@" |
  jq --raw-output '"\(.result.zone): \(.result.cachedHits) memories, task \(.result.writeReason)"'
