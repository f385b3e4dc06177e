/* Root without its capabilities is refused like anybody. */
#include <linux/capability.h>

#include "workload.h"

void prepare(void)
{
	if (geteuid() != 0)
		skip("only root has capabilities to drop");
	put("secret", "hello");
	CHECK(chmod("secret", 0));
	CHECK(mkdir("closed", 0555));
}

void act(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };

	put("before.txt", "x");
	CHECK(syscall(SYS_capset, &header, none));
	FAILS(open("secret", O_RDONLY), EACCES);
	FAILS(open("closed/new", O_WRONLY | O_CREAT, 0644), EACCES);
	expect("output before.txt");
}
