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
          @groups@) ;;
          *) break ;;
        esac
        ;;
    esac
  done
  case "$path $before" in
@values@
  esac
  case "$path" in
@words@
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -F _joelclaw joelclaw
