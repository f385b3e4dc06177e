/* A set-uid program started by an ordinary user runs without its privilege
 * under a tracer: the record says so.  Root's tracer takes nothing away. */
#include <sys/statvfs.h>

#include "workload.h"

static const char *const programs[] = { "/usr/bin/mount", "/usr/bin/su",
					"/usr/bin/passwd", "/bin/mount",
					"/bin/su" };

static const char *find(void)
{
	struct statvfs fs;
	struct stat st;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (stat(programs[i], &st) == 0 && st.st_mode & S_ISUID &&
		    st.st_uid == 0 && statvfs(programs[i], &fs) == 0 &&
		    !(fs.f_flag & ST_NOSUID))
			return programs[i];
	return NULL;
}

int helper(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	expect("state effective user %d", (int)geteuid());
	return 0;
}

void prepare(void)
{
	if (geteuid() == 0) {
		struct statvfs fs;

		CHECK(statvfs(".", &fs));
		if (fs.f_flag & ST_NOSUID)
			skip("the file system is mounted nosuid");
		copy_program(self, "prog");
		CHECK(chmod("prog", 04755));
		CHECK(chmod(".", 0755));
	} else if (!find()) {
		skip("no set-uid program is installed");
	}
}

static void as_root(void)
{
	CHECK(setuid(65534));
	execl("./prog", "prog", "who", NULL);
	fail("execl", __LINE__);
}

static void as_user(void)
{
	int null = CHECK(open("/dev/null", O_RDWR));

	CHECK(dup2(null, 1));
	CHECK(dup2(null, 2));
	execl(find(), find(), "--help", NULL);
	fail("execl", __LINE__);
}

void act(void)
{
	if (geteuid() == 0) {
		in_child(as_root);
		expect("input prog");
	} else {
		in_child(as_user);
		expect("gap setuid");
	}
}
