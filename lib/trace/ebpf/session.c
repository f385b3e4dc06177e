/* session.c - see session.h */
#include "trace/ebpf/session.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"
#include "trace/ebpf/bpf.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/remote.h"
#include "trace/ebpf/wire.h"

enum {
	AHEAD_MAX = 4096, /* the most records to look ahead */
	RECORD_HEAD = 8, /* length and page offset, before each record */
	PIDFD_OF_THREAD = O_EXCL, /* PIDFD_THREAD, which C libraries lack */
	BUSY = 1U << 31, /* bits of that length */
	DISCARDED = 1 << 30,
};

struct session {
	const struct ebpf_maps *maps; /* NULL: the daemon has them */
	struct remote *remote; /* the connection to it */
	uint64_t cookie;
	uint32_t number; /* of the ring */
	bool claimed;
	int ring; /* owned by the caller; by the session when remote */
	size_t ring_bytes;
	size_t page;
	/* Shared with the kernel, without a lock.  The owner's thread advances
	 * *consumer by a release store; the kernel advances *producer, which is
	 * read with acquire before the records. */
	_Atomic(uint64_t) *consumer;
	const _Atomic(uint64_t) *producer;
	const uint8_t *data;
};

/* ---- the ring ---- */

static int map_ring(struct session *s)
{
	void *at = mmap(NULL, s->page, PROT_READ | PROT_WRITE, MAP_SHARED,
			s->ring, 0);

	if (at == MAP_FAILED)
		return -errno;
	s->consumer = at;
	at = mmap(NULL, s->page + 2 * s->ring_bytes, PROT_READ, MAP_SHARED,
		  s->ring, (off_t)s->page);
	if (at == MAP_FAILED)
		return -errno;
	s->producer = at;
	s->data = (const uint8_t *)at + s->page;
	return 0;
}

static void unmap_ring(struct session *s)
{
	if (s->consumer)
		(void)munmap((void *)s->consumer, s->page);
	if (s->producer)
		(void)munmap((void *)s->producer, s->page + 2 * s->ring_bytes);
}

size_t session_drain(struct session *s,
		     void (*take)(void *ctx, const struct wire_record *r),
		     void *ctx)
{
	uint64_t at = atomic_load_explicit(s->consumer, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(s->producer, memory_order_acquire);
	size_t n = 0;

	while (at < end) {
		const uint8_t *head = s->data + (at & (s->ring_bytes - 1));
		uint32_t len = atomic_load_explicit(
			(const _Atomic(uint32_t) *)head, memory_order_acquire);

		if (len & BUSY)
			break;
		if (!(len & DISCARDED)) {
			take(ctx, (const void *)(head + RECORD_HEAD));
			n++;
		}
		len &= ~(uint32_t)DISCARDED;
		at += (len + RECORD_HEAD + 7) & ~7U;
		/* Frees the space as soon as possible. */
		atomic_store_explicit(s->consumer, at, memory_order_release);
		if (at == end)
			end = atomic_load_explicit(s->producer,
						   memory_order_acquire);
	}
	return n;
}

bool session_look_ahead(const struct session *s,
			bool (*look)(void *ctx, const struct wire_record *r),
			void *ctx)
{
	uint64_t at = atomic_load_explicit(s->consumer, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(s->producer, memory_order_acquire);

	for (int n = 0; at < end; n++) {
		const uint8_t *head = s->data + (at & (s->ring_bytes - 1));
		uint32_t len = atomic_load_explicit(
			(const _Atomic(uint32_t) *)head, memory_order_acquire);

		if (n == AHEAD_MAX)
			return true;
		if (len & BUSY)
			break;
		/* The first one is the current record. */
		if (n && !(len & DISCARDED) &&
		    look(ctx, (const void *)(head + RECORD_HEAD)))
			return true;
		len &= ~(uint32_t)DISCARDED;
		at += (len + RECORD_HEAD + 7) & ~7U;
	}
	return false;
}

/* Removes the records of a former borrower. */
static void empty_ring(struct session *s)
{
	atomic_store(s->consumer, atomic_load(s->producer));
}

/* ---- borrowing one ---- */

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* Was the borrower killed?  Unknown for a borrower in another namespace. */
static bool is_orphan(const struct ebpf_session *other, uint64_t ns)
{
	return ns && other->owner_ns == ns && kill(other->owner, 0) < 0 &&
	       errno == ESRCH;
}

static int claim(struct session *s, uint32_t ring,
		 const struct ebpf_session *session)
{
	struct ebpf_session other;
	int r = bpf_map_update(s->maps->sessions, &ring, session, BPF_NOEXIST);

	if (r != -EEXIST ||
	    bpf_map_lookup(s->maps->sessions, &ring, &other) < 0 ||
	    !is_orphan(&other, session->owner_ns))
		return r;
	(void)bpf_map_delete(s->maps->sessions, &ring);
	return bpf_map_update(s->maps->sessions, &ring, session, BPF_NOEXIST);
}

static int borrow(struct session *s)
{
	struct ebpf_session session = {
		.cookie = s->cookie,
		.owner = getpid(),
		.owner_ns = pid_namespace(),
	};

	for (uint32_t i = 0; i < EBPF_RINGS; i++) {
		if (s->maps->rings[i] < 0 || claim(s, i, &session) < 0)
			continue;
		s->number = i;
		s->claimed = true;
		s->ring = s->maps->rings[i];
		return 0;
	}
	return -EBUSY;
}

static struct session *allocate(void)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ring = -1;
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->ring_bytes = EBPF_RING_BYTES;
	return s;
}

int session_open(const struct ebpf_maps *maps, struct session **ret_session)
{
	CLEANUP(session_closep) struct session *s = allocate();
	int r;

	if (!s)
		return -ENOMEM;
	s->maps = maps;
	if (getrandom(&s->cookie, sizeof(s->cookie), 0) != sizeof(s->cookie))
		return -EAGAIN;
	r = borrow(s);
	if (r == 0)
		r = map_ring(s);
	if (r < 0)
		return r;
	empty_ring(s);
	*ret_session = TAKE_PTR(s);
	return 0;
}

int session_open_remote(struct remote *remote, struct session **ret_session)
{
	struct session *s = allocate();

	if (!s) {
		remote_close(remote);
		return -ENOMEM;
	}
	s->remote = remote;
	*ret_session = s;
	return 0;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	if (s->claimed)
		(void)bpf_map_delete(s->maps->sessions, &s->number);
	unmap_ring(s);
	if (s->remote)
		closep(&s->ring);
	remote_close(s->remote);
	free(s);
}

/* ---- members ---- */

static int add_remote(struct session *s, int pidfd, pid_t pid)
{
	int ring = remote_start(s->remote, pidfd, pid);

	if (ring < 0)
		return ring;
	s->ring = ring;
	return map_ring(s);
}

/* `pidfd` is the process's or one of its threads'. */
static int add_member(struct session *s, int pidfd, pid_t pid)
{
	struct ebpf_member member = {
		.cookie = s->cookie,
		.ring = s->number,
		.pid = pid,
		.level = -1,
	};

	return bpf_map_update(s->maps->members, &pidfd, &member, BPF_ANY);
}

/* Adds the threads that a process has before it is a member; a command has none.  One
 * of them may be the last to end, and then records the end of the process.  Kernels
 * without a pidfd for a thread (before 6.9) read that from its first thread. */
static void add_threads(struct session *s, pid_t pid)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(pid, "task").text);
	pid_t thread;

	while ((thread = proc_next(dir)) >= 0) {
		CLEANUP(closep) int fd = -1;

		if (thread == pid)
			continue;
		fd = (int)syscall(SYS_pidfd_open, thread, PIDFD_OF_THREAD);
		if (fd >= 0)
			(void)add_member(s, fd, pid);
	}
}

int session_add(struct session *s, pid_t pid)
{
	CLEANUP(closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (s->remote)
		return add_remote(s, fd, pid);
	r = session_add_pidfd(s, fd, pid);
	if (r == 0)
		add_threads(s, pid);
	return r;
}

int session_add_pidfd(struct session *s, int pidfd, pid_t pid)
{
	struct ebpf_session session;
	int r;

	assert(!s->remote);
	r = bpf_map_lookup(s->maps->sessions, &s->number, &session);
	if (r < 0)
		return r;
	session.n_live++;
	r = bpf_map_update(s->maps->sessions, &s->number, &session, BPF_EXIST);
	if (r < 0)
		return r;
	return add_member(s, pidfd, pid);
}

int session_guard(struct session *s, uid_t uid)
{
	struct ebpf_session session;
	int r;

	assert(!s->remote);
	r = bpf_map_lookup(s->maps->sessions, &s->number, &session);
	if (r < 0)
		return r;
	session.guarded = 1;
	session.uid = uid;
	return bpf_map_update(s->maps->sessions, &s->number, &session,
			      BPF_EXIST);
}

int session_fd(const struct session *s)
{
	return s->ring;
}

int session_ask(const struct session *s, struct session_state *ret_state)
{
	struct ebpf_session session;
	int r;

	if (s->remote)
		return remote_ask(s->remote, ret_state);
	r = bpf_map_lookup(s->maps->sessions, &s->number, &session);
	if (r < 0)
		return r;
	*ret_state = (struct session_state){
		.lost = session.lost,
		.escaped = session.escaped,
		.sums_lost = session.sums_lost,
		.hidden = session.hidden,
		.n_rings = session.n_rings,
		.n_live = session.n_live,
	};
	return 0;
}
