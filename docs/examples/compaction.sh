#!/bin/sh
# Around a compaction: `compaction.sh before SESSION` and `compaction.sh after SESSION`; the latter prints the recovery note.
case $1 in
before) joelclaw checkpoint flush --session "$2" >/dev/null ;;
after) joelclaw inject recovery --session "$2" --raw ;;
*) echo "usage: $0 before|after SESSION" >&2; exit 2 ;;
esac
