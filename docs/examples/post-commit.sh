#!/bin/sh
# A git hook (.git/hooks/post-commit): each commit becomes an event, which `joelclaw otel search git.commit` finds.
subject=$(git log -1 --format=%s)
metadata=$(jq --null-input --arg subject "$subject" --arg commit "$(git rev-parse --short HEAD)" '$ARGS.named')
joelclaw otel emit git.commit --source git --metadata "$metadata" >/dev/null
