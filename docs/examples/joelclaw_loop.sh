#!/bin/sh
# joelclaw_loop.sh SESSION: gives $AGENT each line of stdin as a prompt, after what joelclaw has to say.
# $AGENT reads stdin, prints its answer, and writes into the file $USED how full its context is, in percent, or
# "compacted" when it compacted its context.
session=${1:?give a session id}
USED=$(mktemp) && export USED || exit 1
trap 'rm -f "$USED"' EXIT

quiet() { timeout 5 joelclaw "$@" </dev/null 2>/dev/null || :; } # or it would read the loop's prompts
framed() {                                                        # our own text, or nothing
    text=$(quiet inject "$1" --session="$session" --raw)
    case $text in '<joelclaw-memory '*'</joelclaw-memory>') printf '%s\n' "$text" ;; esac
}

before=$(framed memory)
while IFS= read -r prompt; do
    : >"$USED"
    printf '%s\n' ${before:+"$before"} "$prompt" | ${AGENT:?name the command to run}
    before=
    percent=$(cat "$USED")
    if [ "$percent" = compacted ]; then
        before=$(framed recovery)
    else
        quiet checkpoint save --session="$session" --message="$prompt" ${percent:+--percent="$percent"} >/dev/null
        [ "${percent%.*}" -ge 80 ] 2>/dev/null && quiet checkpoint flush --session="$session" >/dev/null
    fi
done
exit 0
