# What bash offers at the end of some command lines.  $1 is the script.
source "$1"
failed=0

# expect "WORDS OFFERED" COMMAND LINE WORDS...
expect()
{
	local expected=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_roar
	if [[ ${COMPREPLY[*]} != "$expected" ]]; then
		echo "'$*' offers '${COMPREPLY[*]}', not '$expected'"
		failed=1
	fi
}

expect 'collection coordinator config' roar co
expect '--help' roar --h
expect 'init inputs' roar help in
expect 'list get set unset' roar config ''
expect 'set' roar env s
expect '--json' roar config --j
expect 'output.verbosity output.quiet output.track_repo_files' roar config set output.
expect 'quiet normal verbose debug' roar config set output.verbosity ''
expect 'true false' roar config set output.quiet ''
expect 'preload ptrace' roar tracer use p
expect 'ebpf' roar tracer enable ''
expect '--path' roar init --pa
expect '--yes' roar init -n --y

cd "$(mktemp -d)" || exit 1
mkdir 'one' && touch two other
expect 'one' roar init --path o
expect 'one' roar init --path = o
expect 'two' roar filter add t
expect 'two' roar shards audit t
rm -r one two other && rmdir "$PWD"

# What is recorded and set comes from roar itself.
bin=$(mktemp -d) || exit 1
cat >"$bin/roar" <<'END'
#!/bin/sh
case $1 in
log) printf 'Job Log (2 jobs)\n\nUID STEP\nabcd1234  @1  x\nabcd5678  @B1  y\n' ;;
env) printf 'ALPHA=1\nBETA=2\n' ;;
filter) printf 'Built-in filters:\n  tmp on\nYour patterns:\n  *.log\n  /mnt\n' ;;
esac
END
chmod +x "$bin/roar"
PATH=$bin:$PATH
cd "$bin" || exit 1
expect '1 B1' roar show @
expect '1' roar show @ 1
expect 'abcd1234 abcd5678' roar inputs abcd
expect '1 B1' roar show --job @
expect '1 B1' roar run @
expect 'ALPHA BETA' roar env get ''
expect 'BETA' roar env unset B
expect '\*.log' roar filter remove \*
rm -r "$bin"
exit $failed
