# bash completion for joelclaw
# Made from cli/*/commands.py by `make completions`: change that, not this.
_joelclaw() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path="" at offered=""
  COMPREPLY=()
  # `--budget=lean` reaches us in three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "${COMP_WORDS[at]}" in
      -*) ;;
      *)
        path="${path:+$path }${COMP_WORDS[at]}"
        case "$path" in
          memory | knowledge | vault | otel | session | store | checkpoint | inject | idle | compaction) ;;
          *) break ;;
        esac
        ;;
    esac
  done
  case "$path $before" in
    "recall --limit" | "recall -n") return ;;
    "recall --min-score") return ;;
    "recall --budget") COMPREPLY=($(compgen -W "auto lean balanced deep" -- "$word")); return ;;
    "recall --category" | "recall -c") return ;;
    "recall --tag") return ;;
    "recall --collection") return ;;
    "recall --session") return ;;
    "recall --project") return ;;
    "recall --batch") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "lost --limit" | "lost -n") return ;;
    "lost --kind" | "lost -k") COMPREPLY=($(compgen -W "files names commands errors words decisions" -- "$word")); return ;;
    "session list --limit" | "session list -n") return ;;
    "session list --project") return ;;
    "session list --client") return ;;
    "session list --hours") return ;;
    "session show --to") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "report --hours") return ;;
    "report --to") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "memory write --category" | "memory write -c") return ;;
    "memory write --tags" | "memory write -t") return ;;
    "memory write --source" | "memory write -s") return ;;
    "memory write --session") return ;;
    "memory write --project") return ;;
    "memory search --limit" | "memory search -n") return ;;
    "memory search --category" | "memory search -c") return ;;
    "memory recent --count" | "memory recent -n") return ;;
    "memory recent --hours") return ;;
    "memory scorecard --hours") return ;;
    "memory forget --session") return ;;
    "memory forget --project") return ;;
    "memory forget --before") return ;;
    "memory forget --match") return ;;
    "memory list --tag" | "memory list -t") return ;;
    "memory list --category" | "memory list -c") return ;;
    "memory list --project") return ;;
    "memory list --verdict") COMPREPLY=($(compgen -W "allow hold discard" -- "$word")); return ;;
    "memory list --source" | "memory list -s") return ;;
    "memory list --days") return ;;
    "memory list --older-than") return ;;
    "memory list --limit" | "memory list -n") return ;;
    "memory list --page") return ;;
    "memory tag --add") return ;;
    "memory tag --remove") return ;;
    "memory import --format") COMPREPLY=($(compgen -W "auto ours markdown mem0 mcp-memory claude-mem basic-memory" -- "$word")); return ;;
    "memory export --collection") return ;;
    "memory archive --agent") COMPREPLY=($(compgen -W "claude codex gemini pi" -- "$word")); return ;;
    "memory observe --session") return ;;
    "memory observe --command") return ;;
    "memory index --limit" | "memory index -n") return ;;
    "memory index --budget-seconds") return ;;
    "knowledge search --type" | "knowledge search -t") return ;;
    "knowledge search --limit" | "knowledge search -n") return ;;
    "vault search --limit" | "vault search -n") return ;;
    "otel emit --action") return ;;
    "otel emit --source") return ;;
    "otel emit --component") return ;;
    "otel emit --level") COMPREPLY=($(compgen -W "debug info warn error fatal" -- "$word")); return ;;
    "otel emit --success") COMPREPLY=($(compgen -W "true false" -- "$word")); return ;;
    "otel emit --metadata") return ;;
    "otel emit --id") return ;;
    "otel emit --timestamp") return ;;
    "otel emit --error") return ;;
    "otel emit --duration-ms") return ;;
    "otel emit --session") return ;;
    "otel list --level") return ;;
    "otel list --source") return ;;
    "otel list --component") return ;;
    "otel list --session") return ;;
    "otel list --system") return ;;
    "otel list --success") COMPREPLY=($(compgen -W "true false" -- "$word")); return ;;
    "otel list --hours") return ;;
    "otel list --limit" | "otel list -n") return ;;
    "otel list --page") return ;;
    "otel list --backend") COMPREPLY=($(compgen -W "sqlite typesense" -- "$word")); return ;;
    "otel search --level") return ;;
    "otel search --source") return ;;
    "otel search --component") return ;;
    "otel search --session") return ;;
    "otel search --system") return ;;
    "otel search --success") COMPREPLY=($(compgen -W "true false" -- "$word")); return ;;
    "otel search --hours") return ;;
    "otel search --limit" | "otel search -n") return ;;
    "otel search --page") return ;;
    "otel search --backend") COMPREPLY=($(compgen -W "sqlite typesense" -- "$word")); return ;;
    "otel stats --source") return ;;
    "otel stats --component") return ;;
    "otel stats --hours") return ;;
    "otel stats --backend") COMPREPLY=($(compgen -W "sqlite typesense" -- "$word")); return ;;
    "otel prune --days") return ;;
    "otel export --to") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "checkpoint save --session") return ;;
    "checkpoint save --percent") return ;;
    "checkpoint save --tokens") return ;;
    "checkpoint save --window") return ;;
    "checkpoint save --message" | "checkpoint save -m") return ;;
    "checkpoint save --file") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "checkpoint save --role") return ;;
    "checkpoint flush --session") return ;;
    "checkpoint flush --percent") return ;;
    "checkpoint flush --tokens") return ;;
    "checkpoint flush --window") return ;;
    "checkpoint flush --role") return ;;
    "inject recovery --session") return ;;
    "inject recovery --role") return ;;
    "inject memory --session") return ;;
    "inject memory --role") return ;;
    "inject memory --query") return ;;
    "inject memory --project") return ;;
    "inject refresh --session") return ;;
    "inject refresh --role") return ;;
    "inject refresh --message" | "inject refresh -m") return ;;
    "inject refresh --percent") return ;;
    "inject project --session") return ;;
    "inject project --role") return ;;
    "inject project --file") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "inject project --cwd") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "compaction decide --window") return ;;
    "compaction decide --reserve") return ;;
    "compaction decide --at") return ;;
    "compaction decide --client") COMPREPLY=($(compgen -W "pi claude codex" -- "$word")); return ;;
    "compaction prepare --keep-recent") return ;;
    "compaction prepare --reserve") return ;;
    "compaction prepare --window") return ;;
    "compaction prepare --at") return ;;
    "compaction prepare --client") COMPREPLY=($(compgen -W "pi claude codex" -- "$word")); return ;;
    "compaction serialize --part") COMPREPLY=($(compgen -W "context branch summarize prefix" -- "$word")); return ;;
    "compaction serialize --keep-recent") return ;;
    "compaction serialize --client") COMPREPLY=($(compgen -W "pi claude codex" -- "$word")); return ;;
    "compaction summarize --instructions") return ;;
    "compaction summarize --command") return ;;
    "compaction summarize --keep-recent") return ;;
    "compaction summarize --reserve") return ;;
    "compaction summarize --window") return ;;
    "compaction summarize --at") return ;;
    "compaction summarize --client") COMPREPLY=($(compgen -W "pi claude codex" -- "$word")); return ;;
    "compaction branch --from") return ;;
    "compaction branch --to") return ;;
    "compaction branch --budget") return ;;
    "compaction branch --instructions") return ;;
    "compaction branch --command") return ;;
    "compaction branch --client") COMPREPLY=($(compgen -W "pi claude codex" -- "$word")); return ;;
    "idle schedule --session") return ;;
    "idle schedule --percent") return ;;
    "idle schedule --tokens") return ;;
    "idle schedule --window") return ;;
    "idle schedule --minutes") return ;;
    "idle schedule --agent") return ;;
    "idle schedule --cwd") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "idle cancel --session") return ;;
    "off --session") return ;;
    "on --session") return ;;
    "exclude --remove") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "store sync --seconds") return ;;
    "restore --into") compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    "doctor --client") COMPREPLY=($(compgen -W "pi claude codex gemini opencode" -- "$word")); return ;;
  esac
  case "$path" in
    "") if [[ $word == -* ]]; then offered="--json --help -h --version"; else offered="recall lost report hook trust off on exclude mcp install uninstall backup restore status doctor completion memory knowledge vault otel session store checkpoint inject idle compaction"; fi ;;
    "memory") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="write search recent scorecard show forget list edit tag pin supersede import export archive observe stats index"; fi ;;
    "knowledge") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="sync search"; fi ;;
    "vault") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="read search"; fi ;;
    "otel") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="emit list search stats prune export import"; fi ;;
    "session") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="list show"; fi ;;
    "store") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="init sync push pull verify prune"; fi ;;
    "checkpoint") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="save flush show list clear"; fi ;;
    "inject") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="recovery memory refresh project"; fi ;;
    "idle") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="schedule cancel list due run"; fi ;;
    "compaction") if [[ $word == -* ]]; then offered="--json --help -h"; else offered="decide prepare serialize summarize branch"; fi ;;
    "recall") if [[ $word == -* ]]; then offered="--limit -n --min-score --raw --verbatim --include-hold --include-discard --budget --category -c --tag --collection --session --project --everywhere --explain --batch --json --help -h"; fi ;;
    "lost") if [[ $word == -* ]]; then offered="--limit -n --kind -k --json --help -h"; fi ;;
    "session list") if [[ $word == -* ]]; then offered="--limit -n --project --client --hours --json --help -h"; fi ;;
    "session show") if [[ $word == -* ]]; then offered="--full --html --to --json --help -h"; fi ;;
    "report") if [[ $word == -* ]]; then offered="--hours --html --to --json --help -h"; fi ;;
    "memory write") if [[ $word == -* ]]; then offered="--category -c --tags -t --source -s --session --project --global --json --help -h"; fi ;;
    "memory search") if [[ $word == -* ]]; then offered="--limit -n --category -c --raw --json --help -h"; fi ;;
    "memory recent") if [[ $word == -* ]]; then offered="--count -n --hours --json --help -h"; fi ;;
    "memory scorecard") if [[ $word == -* ]]; then offered="--hours --json --help -h"; fi ;;
    "memory show") if [[ $word == -* ]]; then offered="--verbatim --json --help -h"; fi ;;
    "memory forget") if [[ $word == -* ]]; then offered="--session --undo --purge --project --before --match --yes -y --dry-run --json --help -h"; fi ;;
    "memory list") if [[ $word == -* ]]; then offered="--tag -t --category -c --project --verdict --source -s --days --older-than --all --limit -n --page --json --help -h"; fi ;;
    "memory edit") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "memory tag") if [[ $word == -* ]]; then offered="--add --remove --json --help -h"; fi ;;
    "memory pin") if [[ $word == -* ]]; then offered="--undo --json --help -h"; fi ;;
    "memory supersede") if [[ $word == -* ]]; then offered="--undo --json --help -h"; fi ;;
    "memory import") if [[ $word == -* ]]; then offered="--format --preview --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "memory export") if [[ $word == -* ]]; then offered="--collection --json --help -h"; fi ;;
    "memory archive") if [[ $word == -* ]]; then offered="--all --index --agent --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "memory observe") if [[ $word == -* ]]; then offered="--session --command --detach --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "memory stats") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "memory index") if [[ $word == -* ]]; then offered="--limit -n --budget-seconds --json --help -h"; fi ;;
    "knowledge sync") if [[ $word == -* ]]; then offered="--prune --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "knowledge search") if [[ $word == -* ]]; then offered="--type -t --limit -n --json --help -h"; fi ;;
    "vault read") if [[ $word == -* ]]; then offered="--raw --verbatim --json --help -h"; fi ;;
    "vault search") if [[ $word == -* ]]; then offered="--semantic --limit -n --json --help -h"; fi ;;
    "otel emit") if [[ $word == -* ]]; then offered="--action --source --component --level --success --metadata --id --timestamp --error --duration-ms --session --stdin --json --help -h"; fi ;;
    "otel list") if [[ $word == -* ]]; then offered="--level --source --component --session --system --success --hours --limit -n --page --backend --json --help -h"; fi ;;
    "otel search") if [[ $word == -* ]]; then offered="--level --source --component --session --system --success --hours --limit -n --page --backend --follow -f --json --help -h"; fi ;;
    "otel stats") if [[ $word == -* ]]; then offered="--source --component --hours --backend --json --help -h"; fi ;;
    "otel prune") if [[ $word == -* ]]; then offered="--days --json --help -h"; fi ;;
    "otel export") if [[ $word == -* ]]; then offered="--follow -f --status --to --json --help -h"; fi ;;
    "otel import") if [[ $word == -* ]]; then offered="--json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "checkpoint save") if [[ $word == -* ]]; then offered="--session --percent --tokens --window --message -m --file --role --stdin --json --help -h"; fi ;;
    "checkpoint flush") if [[ $word == -* ]]; then offered="--session --percent --tokens --window --role --json --help -h"; fi ;;
    "checkpoint show") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "checkpoint list") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "checkpoint clear") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "inject recovery") if [[ $word == -* ]]; then offered="--session --role --raw --json --help -h"; fi ;;
    "inject memory") if [[ $word == -* ]]; then offered="--session --role --query --project --raw --json --help -h"; fi ;;
    "inject refresh") if [[ $word == -* ]]; then offered="--session --role --message -m --percent --raw --json --help -h"; fi ;;
    "inject project") if [[ $word == -* ]]; then offered="--session --role --file --cwd --raw --json --help -h"; fi ;;
    "compaction decide") if [[ $word == -* ]]; then offered="--window --reserve --at --client --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "compaction prepare") if [[ $word == -* ]]; then offered="--keep-recent --reserve --window --at --client --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "compaction serialize") if [[ $word == -* ]]; then offered="--part --keep-recent --client --raw --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "compaction summarize") if [[ $word == -* ]]; then offered="--instructions --command --keep-recent --reserve --window --at --client --raw --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "compaction branch") if [[ $word == -* ]]; then offered="--from --to --budget --instructions --command --client --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "idle schedule") if [[ $word == -* ]]; then offered="--session --percent --tokens --window --minutes --agent --cwd --json --help -h"; fi ;;
    "idle cancel") if [[ $word == -* ]]; then offered="--session --json --help -h"; fi ;;
    "idle list") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "idle due") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "idle run") if [[ $word == -* ]]; then offered="--once --until-empty --json --help -h"; fi ;;
    "hook") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "trust") if [[ $word == -* ]]; then offered="--list --revoke --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "off") if [[ $word == -* ]]; then offered="--session --project --everywhere --json --help -h"; fi ;;
    "on") if [[ $word == -* ]]; then offered="--session --project --everywhere --json --help -h"; fi ;;
    "exclude") if [[ $word == -* ]]; then offered="--list --remove --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "mcp") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "install") if [[ $word == -* ]]; then offered="--all --project --dry-run --diff --yes -y --mcp --list --json --help -h"; else COMPREPLY=($(compgen -W "pi claude codex gemini opencode" -- "$word")); return; fi ;;
    "uninstall") if [[ $word == -* ]]; then offered="--all --project --dry-run --diff --yes -y --json --help -h"; else COMPREPLY=($(compgen -W "pi claude codex gemini opencode" -- "$word")); return; fi ;;
    "store init") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "store sync") if [[ $word == -* ]]; then offered="--watch -w --seconds --json --help -h"; fi ;;
    "store push") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "store pull") if [[ $word == -* ]]; then offered="--events --leave --json --help -h"; fi ;;
    "store verify") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "store prune") if [[ $word == -* ]]; then offered="--dry-run --json --help -h"; fi ;;
    "backup") if [[ $word == -* ]]; then offered="--force --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "restore") if [[ $word == -* ]]; then offered="--into --force --verify-only --json --help -h"; else compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    "status") if [[ $word == -* ]]; then offered="--json --help -h"; fi ;;
    "doctor") if [[ $word == -* ]]; then offered="--client --project --fix --json --help -h"; fi ;;
    "completion") if [[ $word == -* ]]; then offered="--install --uninstall --json --help -h"; else COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); return; fi ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -F _joelclaw joelclaw
