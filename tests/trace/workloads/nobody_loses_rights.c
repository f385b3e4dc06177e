/* Rights are taken away just before they are needed. */
#include "workload.h"

void prepare(void)
{
	as_nobody(NULL, NULL);
}

void act(void)
{
	if (geteuid() == 0)
		_exit(0);
	CHECK(mkdir("d", 0755));
	put("d/a", "1");
	CHECK(chmod("d", 0555));
	FAILS(open("d/b", O_WRONLY | O_CREAT, 0644), EACCES);
	FAILS(unlink("d/a"), EACCES);
	CHECK(chmod("d", 0755));
	umask(0777);
	put("z", "1");
	FAILS(open("z", O_RDONLY), EACCES);
	umask(0022);
	put("y", "1");
	CHECK(chmod("y", 0));
	FAILS(open("y", O_RDONLY), EACCES);
	FAILS(open("y", O_WRONLY), EACCES);
	expect("output d/a");
	expect("output z");
	expect("output y");
}
