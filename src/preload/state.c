/* state.c - the life of the library in one process. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
	PAGE = 4096, /* at least; only what we map and use of it */
	MAX_CELLS = 1 << 24,
	DIRECTORY_SMALL = 512, /* a usual current directory, on the stack */
};

/* What pthread_atfork() knows a library by; the start files would have it. */
extern void *__dso_handle;
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

struct preload preload;
__thread struct self self;

static bool is_error(long address)
{
	return address < 0 && address > -4096;
}

/* ---- the current directory ---- */

static void tell_in(struct telling *t, const char *directory, long len)
{
	/* "(unreachable)/x": in a mount that is attached nowhere. */
	atomic_store(&preload.nameless,
		     len <= 0 || directory[0] != '/' ||
			     strncmp(directory, "/proc/", 6) == 0);
	t->path = len > 0 ? directory : "";
	(void)tell(t, true);
}

/* Tells this, with the current directory as its path. */
static void tell_with_directory(struct telling *t)
{
	char small[DIRECTORY_SMALL];
	long len = raw_call(SYS_getcwd, small, sizeof(small));
	long map;

	if (len != -ERANGE) {
		tell_in(t, small, len);
		return;
	}
	map = raw_call(SYS_mmap, 0, LOG_PATH_MAX, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is_error(map)) {
		tell_in(t, small, -1);
		return;
	}
	len = raw_call(SYS_getcwd, map, LOG_PATH_MAX);
	tell_in(t, (char *)map, len);
	(void)raw_call(SYS_munmap, map, LOG_PATH_MAX);
}

void tell_directory(void)
{
	struct telling t = { .kind = LOG_CWD, .exact = true };

	tell_with_directory(&t);
}

/* ---- identity ---- */

/* No other mount namespace has a mount of this number.  0: the kernel (before 5.8) does
 * not report it. */
static int32_t mount_of_root(void)
{
	struct statx st;

	if (raw_call(SYS_statx, AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_MNT_ID,
		     &st) < 0)
		return 0;
	return st.stx_mask & STATX_MNT_ID ? (int32_t)st.stx_mnt_id : 0;
}

/* Names would mean something else to the reader. */
static void notice_mounts(int32_t mount)
{
	int32_t readers = preload.log->root_mount;

	if (mount && readers && mount != readers)
		atomic_store(&preload.elsewhere, true);
}

/* The reader may read this when the parent has ended, and the parent's threads may have
 * other directories: so the child logs its own. */
static void tell_birth(uint32_t parent)
{
	struct telling t = {
		.kind = LOG_FORK,
		.exact = true,
		.value = atomic_load(&preload.identity->pid),
		.other = parent,
	};

	if (atomic_load(&preload.elsewhere))
		(void)tell(&t, true);
	else
		tell_with_directory(&t);
}

static void tell_hello(void)
{
	struct telling t = {
		.kind = LOG_HELLO,
		.exact = true,
		.value = atomic_load(&preload.identity->pid),
		.dirfd = (int32_t)raw_call(SYS_getppid, 0),
		.dirfd2 = mount_of_root(),
	};

	notice_mounts(t.dirfd2);
	tell_with_directory(&t);
}

uint32_t process_renew(void)
{
	struct identity *me = preload.identity;
	uint32_t parent = atomic_load(&preload.parent);
	uint32_t id = atomic_fetch_add(&preload.log->next_process, 1);

	id = id ? id : 1; /* a hostile neighbour may have set it */
	self.vforked = 0;
	atomic_store(&preload.parent, id);
	atomic_store(&me->pid, (int32_t)raw_call(SYS_getpid, 0));
	atomic_store(&me->process, id);
	if (parent)
		tell_birth(parent);
	return id;
}

/* A child that was not announced may have been made with mounts of its own. */
uint32_t process_notice(void)
{
	notice_mounts(mount_of_root());
	return process_renew();
}

/* The child of fork().  The kernel has emptied the page already unless it is older
 * than 4.14; _Fork() and bare clone() do not come here and are noticed later. */
static void after_fork(void)
{
	int saved = errno;

	if (atomic_load(&preload.phase) != PHASE_LIVE)
		return;
	atomic_store(&preload.identity->process, 0);
	/* Changes under way were those of threads we do not have. */
	atomic_fetch_and(&preload.cwd, ~UINT64_C(0xffffffff));
	environ_reset();
	if (live())
		(void)process_renew();
	errno = saved;
}

bool self_is_vforked(void)
{
	return raw_call(SYS_getpid, 0) != atomic_load(&preload.identity->pid);
}

bool self_is_borrowed_slow(void)
{
	if (self_is_vforked())
		return true;
	self.vforked = 0; /* the parent runs again */
	return false;
}

/* ---- attaching ---- */

int quiet_open(const char *path)
{
	return (int)unseen_call(SYS_openat, AT_FDCWD, (long)path,
				O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				0);
}

static bool header_is_sound(const struct log_header *h, int64_t size)
{
	uint32_t n = h->n_cells;

	return h->magic == LOG_MAGIC && n >= 256 && n <= MAX_CELLS &&
	       (n & (n - 1)) == 0 &&
	       size >= LOG_RING_AT + (int64_t)n * LOG_CELL &&
	       memchr(h->preload, '\0', sizeof(h->preload)) && h->preload[0];
}

/* Maps the whole file; false when it is none of ours. */
static bool map_log_fd(int fd)
{
	struct stat st;
	struct log_header *h;
	long map;

	if (raw_call(SYS_fstat, fd, &st) < 0 || st.st_size < LOG_RING_AT)
		return false;
	map = raw_call(SYS_mmap, 0, st.st_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	if (is_error(map))
		return false;
	h = (struct log_header *)map;
	if (!header_is_sound(h, st.st_size)) {
		(void)raw_call(SYS_munmap, map, st.st_size);
		return false;
	}
	preload.log = h;
	preload.names = (void *)((char *)h + LOG_NAMES_AT);
	preload.known = (void *)((char *)h + LOG_KNOWN_AT);
	preload.ring = (char *)h + LOG_RING_AT;
	preload.mask = h->n_cells - 1;
	preload.seccomp = h->mode & LOG_SECCOMP;
	return true;
}

static bool map_log(const char *path)
{
	long fd = unseen_call(SYS_openat, AT_FDCWD, (long)path,
			      O_RDWR | O_CLOEXEC, 0);
	bool done;

	if (fd < 0)
		return false;
	done = map_log_fd((int)fd);
	(void)raw_call(SYS_close, fd);
	return done;
}

/* Not MAP_POPULATE, which costs more than the fault that it saves. */
static bool map_identity(void)
{
	long map = raw_call(SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (is_error(map))
		return false;
	/* Refused by old kernels: then after_fork() is all there is. */
	(void)raw_call(SYS_madvise, map, PAGE, MADV_WIPEONFORK);
	preload.identity = (struct identity *)map;
	return true;
}

static char *find_log(void)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, LOG_ENV "=", sizeof(LOG_ENV)) == 0)
			return *e + sizeof(LOG_ENV);
	return NULL;
}

/* The pass after the path; 0: none. */
static uint64_t find_pass(const char *text)
{
	uint64_t pass = 0;

	for (; *text; text++) {
		unsigned digit = *text <= '9' ? (unsigned)*text - '0' :
						(unsigned)*text - 'a' + 10;

		if (digit > 15)
			return 0;
		pass = pass << 4 | digit;
	}
	return pass;
}

/* The path ends in the environment's own string, for a moment. */
static bool map_named(char *entry)
{
	char *colon = strrchr(entry, ':');
	bool mapped;

	if (colon)
		preload.pass = find_pass(colon + 1);
	if (colon)
		*colon = '\0';
	mapped = map_log(entry);
	if (colon)
		*colon = ':';
	return mapped;
}

static bool try_attach(void)
{
	char *entry = find_log();
	bool mapped;

	if (!entry || strlen(entry) >= LOG_PATH_MAX)
		return false;
	mapped = map_named(entry) && map_identity();
	if (!environment_hide(entry) || !mapped)
		return false;
	next_init();
	preload.pass = preload.log->pass; /* should the environment lie */
	(void)process_renew();
	return true;
}

void attach(void)
{
	int expected = PHASE_NEW, saved = errno;

	if (!environ) /* libc itself is not ready yet */
		return;
	if (!atomic_compare_exchange_strong(&preload.phase, &expected,
					    PHASE_STARTING))
		return;
	if (!try_attach()) {
		atomic_store(&preload.phase, PHASE_INERT);
	} else {
		tell_hello();
		(void)pthread_atfork(NULL, NULL, after_fork);
		atomic_store(&preload.phase, PHASE_LIVE);
	}
	errno = saved;
}

__attribute__((constructor)) static void start(void)
{
	(void)live();
}
