# What bash offers after `roar-coordinator`.  $1 is the script.
source "$1"
failed=0

# expect "WORDS OFFERED" ARGUMENT...
expect()
{
	local expected=$1
	shift
	COMP_WORDS=(roar-coordinator "$@")
	COMP_CWORD=$#
	_roar_coordinator
	if [[ ${COMPREPLY[*]} != "$expected" ]]; then
		echo "'$*' offers '${COMPREPLY[*]}', not '$expected'"
		failed=1
	fi
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" && mkdir one && touch other

expect '--tls-cert --tls-key' --tl
expect '--help' --he
expect '--version' --vers
expect 'one' --data-dir o
expect 'one other' --tokens o
expect 'debug' --log-level d
expect 'text json' --log-format = ''
expect '' --listen o
expect '--agent' --data-dir one --ag
exit $failed
