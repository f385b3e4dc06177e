/* A file system that the run serves itself (FUSE).  A tracer that looks at a file there
 * waits for the server, which may be waiting for the tracer.  eBPF looks at nothing;
 * the others stop looking when /dev/fuse is opened, and say so. */
#include <linux/fuse.h>
#include <sys/mount.h>

#include "workload.h"

enum { ROOT = 1, FILE_NODE = 2 };

static const char content[] = "hello";

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.size = node == ROOT ? 0 : strlen(content),
		.blksize = 4096,
	};
}

static void answer(int fd, const struct fuse_in_header *in, int error,
		   const void *data, size_t len)
{
	char reply[512];
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len),
		.error = -error,
		.unique = in->unique,
	};

	memcpy(reply, &out, sizeof(out));
	if (len)
		memcpy(reply + sizeof(out), data, len);
	(void)!write(fd, reply, out.len);
}

/* Names are looked up anew each time, as servers of other machines' files do. */
static void answer_request(int fd, const struct fuse_in_header *in,
			   const char *arg)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.attr = attr_of(FILE_NODE) };
	struct fuse_attr_out attr = { .attr = attr_of(in->nodeid) };
	struct fuse_open_out open = { 0 };

	/* A call that every tracer stops at, while it has a request. */
	(void)access("beside", F_OK);
	CHECK(close(CHECK(syscall(SYS_openat, AT_FDCWD, "beside", O_RDWR))));
	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(fd, in, strcmp(arg, "in") != 0 ? ENOENT : 0, &entry,
		       strcmp(arg, "in") != 0 ? 0 : sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(fd, in, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		answer(fd, in, 0, content, strlen(content));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(fd, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in, ENOSYS, NULL, 0);
		break;
	}
}

/* Until the file system is unmounted.  Only the run may ask: a tracer that looks at a
 * file keeps the mount busy. */
static void serve(int fd)
{
	static char request[FUSE_MIN_READ_BUFFER + 4096];
	struct fuse_in_header *in = (struct fuse_in_header *)request;
	int n_strangers = 0;
	ssize_t n;

	while ((n = read(fd, request, sizeof(request))) > 0) {
		n_strangers += in->pid && (pid_t)in->pid != getppid();
		answer_request(fd, in, request + sizeof(*in));
	}
	_exit(errno == ENODEV && !n_strangers ? 0 : 1);
}

static int mount_fuse(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	if (fd < 0)
		return -1;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("test", "m", "fuse.test", MS_NOSUID, options) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void prepare(void)
{
	int fd;

	CHECK(mkdir("m", 0755));
	put("before", "hello");
	put("beside", "hello");
	put("after", "hello");
	if (geteuid() != 0)
		skip("a mount needs root");
	fd = mount_fuse();
	if (fd < 0)
		skip("FUSE cannot be mounted here");
	CHECK(umount2("m", MNT_DETACH));
	CHECK(close(fd));
}

void act(void)
{
	int fd;
	pid_t pid;

	take("before");
	fd = CHECK(mount_fuse());
	pid = CHECK(fork());
	if (pid == 0)
		serve(fd);
	CHECK(close(fd));
	take("m/in");
	take("after");
	sleep_ms(100); /* in which a tracer might look */
	CHECK(umount("m"));
	await(pid, 0);
	expect("input before");
	expect("except ebpf gap namespace");
	expect("only ebpf input m/in");
	expect("only ebpf input after");
	expect("only ebpf input beside");
}
