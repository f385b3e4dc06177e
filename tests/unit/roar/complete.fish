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
expect 'roar config set output.' 'output.quiet output.track_repo_files output.verbosity'
expect 'roar config set output.verbosity ' 'debug normal quiet verbose'
expect 'roar tracer use p' 'preload ptrace'
expect 'roar tracer enable ' ebpf
expect 'roar init --pa' --path
expect 'roar run --na' --name
expect 'roar run --name x --has' --hash
expect 'roar run -n x nosuchprogram --na' ''
expect 'roar build nosuchprogram --na' ''

# What is recorded and set comes from roar itself.
set -l bin (mktemp -d)
echo '#!/bin/sh
case $1 in
log) printf "UID STEP\nabcd1234  @1  x\nabcd5678  @B1  y\n" ;;
env) printf "ALPHA=1\nBETA=2\n" ;;
filter) printf "Built-in filters:\nYour patterns:\n  /mnt/scratch\n" ;;
esac' >$bin/roar
chmod +x $bin/roar
set -x PATH $bin $PATH
cd $bin
expect 'roar show @' '@1 @B1'
expect 'roar inputs abcd5' abcd5678
expect 'roar show --job @B' @B1
expect 'roar run @B' @B1
expect 'roar env get ' 'ALPHA BETA'
expect 'roar filter remove /mnt/s' /mnt/scratch
cd /
rm -r $bin
exit $failed
