#!/bin/sh
# A hook for any agent, called with a prompt on stdin: prints what the agent should know about it.
# Without a hit, and on any fault, it prints nothing. `--min-score 0.3` would leave out weak hits.
prompt=$(cat)
joelclaw recall --limit 3 --raw -- "$prompt" 2>/dev/null || :
