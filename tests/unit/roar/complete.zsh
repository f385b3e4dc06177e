# What zsh makes of some command lines when TAB is pressed.  $1 is the script.
zmodload zsh/zpty || exit 77
failed=0
dir=$(mktemp -d) || exit 1
mkdir $dir/functions $dir/bin $dir/folder-of-probes
cp $1 $dir/functions/_roar
print '#!/bin/sh' >$dir/bin/probe-program
chmod +x $dir/bin/probe-program
print -r -- '#!/bin/sh
case $1 in
log) printf "UID STEP\nabcd1234  @1  x\nabcd5678  @B77  y\n" ;;
env) printf "ALPHA=1\nBETA=2\n" ;;
filter) printf "Built-in filters:\nYour patterns:\n  /mnt/scratch\n" ;;
esac' >$dir/bin/roar
chmod +x $dir/bin/roar

# Collects what the shell prints until it has printed $1, at most 20 seconds.
await()
{
	local part
	output=''
	repeat 200; do
		while zpty -r -t shell part; do
			output+=$part
		done
		[[ $output == *$1* ]] && return 0
		sleep 0.1
	done
	return 1
}

# expect TYPED COMPLETED
expect()
{
	zpty -n -w shell $1$'\t'
	if ! await $2; then
		echo "'$1' becomes '$output', not '$2'"
		failed=1
	fi
	# The line is dropped, and the prompt is back when this is printed.
	zpty -n -w shell $'\C-u'"print re''ady"$'\n'
	await ready
}

cd $dir
TERM=dumb zpty shell zsh -f -i
zpty -w shell "PATH=$dir/bin:\$PATH; fpath=($dir/functions \$fpath)"
zpty -w shell "autoload -Uz compinit; compinit -D -u; print re''ady"
await ready || failed=1

expect 'roar stat' 'roar status'
expect 'roar config uns' 'roar config unset'
expect 'roar run --tracer-f' 'roar run --tracer-fallback'
expect 'roar run probe-pr' 'roar run probe-program'
expect 'roar build -n name probe-pr' 'roar build -n name probe-program'
expect 'roar init --path=folder-of' 'roar init --path=folder-of-probes/'
expect 'roar show @B' 'roar show @B77'
expect 'roar inputs abcd5' 'roar inputs abcd5678'
expect 'roar run @B' 'roar run @B77'
expect 'roar env get AL' 'roar env get ALPHA'
expect 'roar tracer check hy' 'roar tracer check hybrid'
expect 'roar tracer enable e' 'roar tracer enable ebpf'
expect 'roar filter remove /mnt/sc' 'roar filter remove /mnt/scratch'

zpty -d shell
cd / && rm -r $dir
exit $failed
