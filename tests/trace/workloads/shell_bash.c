/* Process substitution, coprocesses and here-strings of bash. */
#include "workload.h"

void prepare(void)
{
	if (access("/bin/bash", X_OK) < 0)
		skip("no bash");
	put("a", "1\n2\n");
	put("b", "1\n3\n");
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("/bin/bash", "bash", "--norc", "-c",
		      "diff <(sort a) <(sort b) > difference; "
		      "cat <<< text > here; tee >(cat > copy) < a > direct; "
		      "wait; mapfile -t lines < b; exit ${#lines[@]}",
		      NULL);
		fail("execl", __LINE__);
	}
	await(pid, 2);
	/* The substituted process is nobody's to wait for. */
	for (int i = 0; i < 500 && access("copy", F_OK) < 0; i++)
		sleep_ms(10);
	expect("input a");
	expect("input b");
	expect("output difference");
	expect("output here");
	expect("output copy");
	expect("output direct");
}
