/* The C library's own look-ups open files from inside; a root of our own shows
 * which. */
#include <pwd.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("chroot() needs root");
	CHECK(mkdir("jail", 0755));
	CHECK(mkdir("jail/etc", 0755));
	put("jail/etc/passwd", "somebody:x:7:7::/:/bin/sh\n");
	put("jail/etc/nsswitch.conf", "passwd: files\n");
}

static void behind(void)
{
	struct passwd *entry;

	CHECK(chroot("jail"));
	CHECK(chdir("/"));
	entry = getpwnam("somebody");
	REQUIRE(entry && entry->pw_uid == 7);
	REQUIRE(!getpwnam("nobody at all"));
}

void act(void)
{
	in_child(behind);
	expect("input jail/etc/passwd");
	expect("input jail/etc/nsswitch.conf");
}
