# What fish offers at the end of some command lines.  $argv[1] is the script.
source $argv[1]
set -g failed 0

function expect
    set -l offered (complete -C $argv[1] | string replace -r '\t.*' '' | string join ' ')
    if test "$offered" != "$argv[2]"
        echo "'$argv[1]' offers '$offered', not '$argv[2]'"
        set -g failed 1
    end
end

expect 'roar conf' config
expect 'roar help in' 'init inputs'
expect 'roar config ' 'get list set unset'
expect 'roar config set output.' 'output.quiet output.verbosity'
expect 'roar config set output.verbosity ' 'debug normal quiet verbose'
expect 'roar init --pa' --path
expect 'roar run --na' --name
expect 'roar run --name x --has' --hash
expect 'roar run -n x nosuchprogram --na' ''
expect 'roar build nosuchprogram --na' ''
exit $failed
