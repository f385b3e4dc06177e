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

expect 'config' roar co
expect '--help' roar --h
expect 'init inputs' roar help in
expect 'list get set unset' roar config ''
expect 'set' roar env s
expect '--json' roar config --j
expect 'output.verbosity output.quiet' roar config set output.
expect 'quiet normal verbose debug' roar config set output.verbosity ''
expect 'true false' roar config set output.quiet ''
expect '--path' roar init --pa
expect '--yes' roar init -n --y

cd "$(mktemp -d)" || exit 1
mkdir 'one' && touch two other
expect 'one' roar init --path o
expect 'one' roar init --path = o
expect 'two' roar filter add t
rm -r one two other && rmdir "$PWD"
exit $failed
