/* What is mounted in one of two shared mounts appears in the other as well, which only
 * a look at all mounts tells. */
#include <sys/mount.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("a mount needs root");
	CHECK(mkdir("d", 0755));
	CHECK(mkdir("d/sub", 0755));
	CHECK(mkdir("e", 0755));
	put("d/sub/in", "covered");
	if (mount("d", "d", NULL, MS_BIND, NULL) < 0)
		skip("nothing can be mounted here");
	CHECK(mount(NULL, "d", NULL, MS_SHARED, NULL));
	CHECK(mount("d", "e", NULL, MS_BIND, NULL));
}

void act(void)
{
	CHECK(mount("none", "d/sub", "tmpfs", 0, NULL));
	FAILS(open("e/sub/in", O_RDONLY), ENOENT);
	put("e/sub/out", "x");
	CHECK(umount("d/sub"));
	take("e/sub/in");
	expect("except ebpf temporary d/sub/out");
	expect("except ebpf input d/sub/in");
	expect("only ebpf may temporary d/sub/out");
	expect("only ebpf may input d/sub/in");
	expect("only ebpf gap namespace");
}
