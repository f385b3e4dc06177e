/* Landlock: a sandbox that a program puts itself into. */
#include <linux/landlock.h>
#include <sys/prctl.h>

#include "workload.h"

static int new_rules(void)
{
	struct landlock_ruleset_attr rules = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE |
				     LANDLOCK_ACCESS_FS_WRITE_FILE |
				     LANDLOCK_ACCESS_FS_MAKE_REG,
	};

	return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules),
			    0);
}

void prepare(void)
{
	if (new_rules() < 0)
		skip("no Landlock here");
	put("in.txt", "hello");
}

void act(void)
{
	int rules = CHECK(new_rules());

	put("before.txt", "x");
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(syscall(SYS_landlock_restrict_self, rules, 0));
	FAILS(open("in.txt", O_RDONLY), EACCES);
	FAILS(open("before.txt", O_WRONLY), EACCES);
	FAILS(open("new.txt", O_WRONLY | O_CREAT, 0644), EACCES);
	expect("output before.txt");
}
