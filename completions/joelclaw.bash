# bash completion for joelclaw, which itself says what may follow
_joelclaw() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]} offers words
  words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  offers=$(joelclaw completion "${words[@]/#/--offer=}" 2>/dev/null | cut -f 1)
  if [[ $offers == "@files" ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  else
    COMPREPLY=($offers)
  fi
}
complete -F _joelclaw joelclaw
