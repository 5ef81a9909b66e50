# fish completion for joelclaw
# Made from cli/*/commands.py by `make completions`: change that, not this.
function __joelclaw_at --description 'Whether the words so far name this command'
    set -l path
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and continue
        set -a path $word
        contains -- "$path" @groups@; or break
    end
    test "$path" = "$argv[1]"
end
complete -c joelclaw -f
