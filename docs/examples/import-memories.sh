#!/bin/sh
# Imports the memories of another tool: import-memories.sh mem0|mcp|claude-mem FILE. Repeat it if it is interrupted.
case $1:$# in mem0:2 | mcp:2 | claude-mem:2) ;; *) sed -n 2p "$0" >&2; exit 2 ;; esac
case $1 in
  mem0)  # an answer of its API with all memories, as JSON
    jq -c '(.results? // .)[] |
      {id: "mem0-\(.id)", text: .memory, created_at, updated_at: (now | todate), tags: ["mem0"]}' "$2" ;;
  mcp)  # memory.jsonl of MCP's memory server
    jq -c 'if .type == "relation" then {text: "\(.from) \(.relationType) \(.to)"}
      else .name as $name | .observations[] | {text: "\($name): \(.)"} end' "$2" ;;
  claude-mem)  # ~/.claude-mem/claude-mem.db; stop claude-mem first
    sqlite3 -readonly -json "$2" "SELECT value AS text, project, created_at_epoch AS created_at,
      strftime('%s') * 1000 AS updated_at FROM observations, json_each(facts)" | jq -c '.[]' ;;
esac | joelclaw memory import -
