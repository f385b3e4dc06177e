/* Every kind of redirection a shell has. */
#include "workload.h"

void prepare(void)
{
	put("in", "hello\n");
	put("both", "hello\n");
	put("log", "old\n");
	put("kept", "old\n");
}

void act(void)
{
	REQUIRE(system("cat < in > out; echo x >> log; read a <> both; "
		       "ls nothing 2> err; (echo a; echo b >&2) > all 2>&1; "
		       "exec 5> five; echo x >&5; exec 5>&-; "
		       "cat << E > here\ntext\nE\n"
		       "set -C; (echo x > kept) 2> /dev/null || "
		       "echo x >| forced") == 0);
	expect("input in");
	expect("output out");
	expect("output log");
	expect("input both");
	expect("output err");
	expect("output all");
	expect("output five");
	expect("output here");
	expect("output forced");
}
