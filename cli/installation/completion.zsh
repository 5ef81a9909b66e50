#compdef joelclaw
# zsh completion for joelclaw, which itself says what may follow
_joelclaw() {
  local -a offers
  offers=(${(f)"$(joelclaw completion "${(@)words[2,CURRENT]/#/--offer=}" 2>/dev/null)"})
  if [[ $offers[1] == @files ]]; then
    _files
  else
    offers=(${${offers//:/\\:}//$'\t'/:})
    _describe joelclaw offers
  fi
}
if [ "$funcstack[1]" = "_joelclaw" ]; then
  _joelclaw "$@"
else
  compdef _joelclaw joelclaw
fi
