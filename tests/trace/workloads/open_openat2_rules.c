/* With the rules of openat2() a link leads elsewhere than without, or nowhere: the
 * files it would lead to otherwise are none of the run's. */
#include <linux/openat2.h>

#include "workload.h"

static int open2(int dir, const char *path, unsigned flags, unsigned resolve)
{
	struct open_how how = {
		.flags = flags,
		.mode = flags & O_CREAT ? 0644 : 0,
		.resolve = resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

void prepare(void)
{
	char cwd[1024], text[4096];

	REQUIRE(getcwd(cwd, sizeof(cwd)));
	CHECK(mkdir("tree", 0755));
	CHECK(mkdir("tree/sub", 0755));
	put("data", "outside");
	put("tree/data", "inside");
	put("tree/sub/up", "inside");
	put("tree/plain", "inside");
	put("sub", "outside");
	/* An absolute link with the same name inside and outside. */
	snprintf(text, sizeof(text),
		 "mkdir -p tree%s && echo inside > "
		 "tree%s/data",
		 cwd, cwd);
	REQUIRE(system(text) == 0);
	snprintf(text, sizeof(text), "%s/data", cwd);
	CHECK(symlink(text, "tree/absolute"));
	CHECK(symlink("../../../../sub/up", "tree/sub/climbs"));
	CHECK(symlink("/fresh", "tree/dangling"));
	if (open2(AT_FDCWD, ".", O_RDONLY, 0) < 0 && errno == ENOSYS)
		skip("no openat2()");
}

void act(void)
{
	int dir = CHECK(open("tree", O_PATH | O_DIRECTORY));
	char cwd[2048];

	REQUIRE(getcwd(cwd, sizeof(cwd)));
	take_fd(CHECK(open2(dir, "absolute", O_RDONLY, RESOLVE_IN_ROOT)));
	take_fd(CHECK(open2(dir, "sub/climbs", O_RDONLY, RESOLVE_IN_ROOT)));
	take_fd(CHECK(open2(dir, "/../data", O_RDONLY, RESOLVE_IN_ROOT)));
	take_fd(CHECK(open2(dir, "sub/../plain", O_RDONLY, RESOLVE_BENEATH)));
	put_fd(CHECK(open2(dir, "/sub/made", O_WRONLY | O_CREAT,
			   RESOLVE_IN_ROOT)),
	       "x");
	put_fd(CHECK(open2(dir, "dangling", O_WRONLY | O_CREAT,
			   RESOLVE_IN_ROOT)),
	       "x");
	FAILS(open2(dir, "absolute", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	FAILS(open2(dir, "absolute", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	FAILS(open2(dir, "../data", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	expect("input tree%s/data", cwd);
	expect("input tree/sub/up");
	expect("input tree/data");
	expect("input tree/plain");
	expect("output tree/sub/made");
	expect("output tree/fresh");
}
