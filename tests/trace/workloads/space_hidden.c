/* What another mount hides: files of the same names outside are not what is used, and
 * the record says so. */
#include "elsewhere.h"

void prepare(void)
{
	CHECK(mkdir("mnt", 0755));
	put("mnt/in.txt", "outside");
	put("mnt/old.txt", "outside");
	copy_program("/bin/true", "mnt/program");
	CHECK(mkdir("mnt/sub", 0755));
	put("mnt/sub/in.txt", "outside");
	put("bound.txt", "hello");
	put("over.txt", "hello");
#ifdef AS_USER
	as_nobody("mnt", "mnt/sub", "mnt/in.txt", "mnt/old.txt", "mnt/program",
		  "mnt/sub/in.txt", "bound.txt", "over.txt", NULL);
#endif
	prepare_elsewhere(CLONE_NEWNS);
}

static void run(const char *program)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl(program, program, NULL);
		_exit(1);
	}
	await(pid, 0);
}

static void behind(void)
{
	go_elsewhere(CLONE_NEWNS);
	CHECK(mount("none", "mnt", "tmpfs", 0, NULL));
	put("mnt/in.txt", "x");
	take("mnt/in.txt");
	put("mnt/old.txt", "x");
	CHECK(rename("mnt/old.txt", "mnt/new.txt"));
	CHECK(truncate("mnt/in.txt", 0));
	CHECK(unlink("mnt/in.txt"));
	copy_program("/bin/true", "mnt/program");
	run("mnt/program");
	CHECK(chdir("mnt"));
	put("made.txt", "x");
	FAILS(open("sub/in.txt", O_RDONLY), ENOENT);
	CHECK(chdir(".."));
	/* One file on another: the name is one, the content the other's. */
	CHECK(mount("bound.txt", "over.txt", NULL, MS_BIND, NULL));
	take("over.txt");
}

void act(void)
{
	in_child(behind);
	put("after.txt", "x");
	expect("output after.txt");
	expect("gap namespace");
	expect("may input bound.txt");
}
