/* Each of the calls that change the user takes the power to open everything: what
 * is tried then fails, and nobody may believe that it worked. */
#include <sys/fsuid.h>

#include "workload.h"

enum { NOBODY = 65534, KEEP = -1 };

void prepare(void)
{
	if (geteuid() != 0)
		skip("only root has privileges to drop");
	CHECK(chmod(".", 0755));
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "secret%d", i);
		put(name, "hello");
		CHECK(chmod(name, 0600));
	}
}

static void try(int i)
{
	char name[16];

	snprintf(name, sizeof(name), "secret%d", i);
	FAILS(open(name, O_RDONLY), EACCES);
	FAILS(open(name, O_WRONLY | O_TRUNC), EACCES);
	FAILS(open("new", O_WRONLY | O_CREAT, 0644), EACCES);
	FAILS(unlink(name), EACCES);
}

static void by_setuid(void)
{
	take("secret0"); /* while it may */
	CHECK(setuid(NOBODY));
	try(1);
}

static void by_setreuid(void)
{
	take("secret0");
	CHECK(setreuid(KEEP, NOBODY));
	try(1);
}

static void by_setresuid(void)
{
	take("secret0");
	CHECK(setresuid(KEEP, NOBODY, KEEP));
	try(2);
}

static void by_setfsuid(void)
{
	take("secret0");
	(void)setfsuid(NOBODY);
	try(3);
}

void act(void)
{
	in_child(by_setuid);
	in_child(by_setreuid);
	in_child(by_setresuid);
	in_child(by_setfsuid);
	expect("input secret0");
}
