# fish completion for joelclaw, which itself says what may follow
function __joelclaw_offers
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    set -l offers (joelclaw completion --offer=$words 2>/dev/null)
    if test "$offers" = @files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $offers
    end
end
complete -c joelclaw -f -a '(__joelclaw_offers)'
