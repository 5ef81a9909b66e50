#compdef joelclaw
# Made from cli/*/commands.py by `make completions`: change that, not this.
#@group
@function@() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a names
  names=(
@names@
  )
  _arguments -C@flags@ \
    '1: :->name' \
    '*:: :->rest' && return
  case $state in
    name) _describe command names ;;
    rest) (( $+functions[@function@_$line[1]] )) && @function@_$line[1] ;;
  esac
}
#@tail
if [ "$funcstack[1]" = "_joelclaw" ]; then
  _joelclaw "$@"
else
  compdef _joelclaw joelclaw
fi
