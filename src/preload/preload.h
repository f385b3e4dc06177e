/* preload.h - the inside of libroar-preload.so.
 *
 * The library replaces the functions of libc that name files.  Each writes its
 * operation to the shared log (trace/preload/log.h is the contract) and then performs
 * it.  It runs inside other people's programs, so it has strict rules:
 *
 *	- An open makes no other system call, takes no lock, allocates nothing
 *	  and uses no buffer on the stack; records are written directly into the
 *	  ring.
 *	- Any function may be interrupted by a signal whose handler calls it
 *	  again, run in a child of vfork(), or run on a stack of 16 KiB.
 *	- errno after a call is what it would be without us.
 *	- No descriptor stays open, nothing is printed, and nothing of ours is in
 *	  the environment.
 *	- An error makes the library stop logging; it never changes the program.
 *
 *	state.c		 life cycle: attaching, forks, identity
 *	ring.c		 writing records, asking the reader
 *	next.c		 the functions that are replaced
 *	environment.c	 hides from the program, follows into its children
 *	open.c stdio.c name.c place.c receive.c exec.c spawn.c wait.c route.c
 *			 the functions themselves
 *
 * Threads: every function may run on any thread at the same time.  Shared fields are
 * atomic and need no order between each other unless stated; `phase` is published with
 * release after the other fields of struct preload were set. */
#ifndef ROAR_PRELOAD_PRELOAD_H
#define ROAR_PRELOAD_PRELOAD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/preload/log.h"
#include "trace/preload/raw.h"

#include "next.h"

/* Defines an exported function with libc's name.  The C name is another, so that
 * neither the attributes nor the redirections of libc's headers apply. */
#define WRAPPER(type, name, ...)                      \
	__attribute__((visibility("default")))        \
	type wrap_##name(__VA_ARGS__) __asm__(#name); \
	type wrap_##name(__VA_ARGS__)

/* The function that would have been called without us. */
#define NEXT(name) ((__typeof__(&wrap_##name))next_function(NEXT_##name))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- state.c ---- */

enum phase {
	PHASE_NEW,
	PHASE_STARTING, /* a thread is attaching; not live yet */
	PHASE_INERT, /* there is no log: call libc only */
	PHASE_LIVE,
};

/* The identity of the process.  It is in a page that the kernel clears in a child that
 * copies our memory, however the child was made. */
struct identity {
	_Atomic uint32_t process; /* id of log.h; 0: a new process */
	_Atomic int32_t pid;
};

struct preload {
	_Atomic int phase; /* enum phase */
	bool seccomp; /* asking is a call without a mark */
	struct log_header *log;
	_Atomic uint64_t *names; /* read_names */
	_Atomic uint64_t *known;
	char *ring;
	uint64_t mask; /* cells - 1 */
	uint64_t pass; /* 0: there is no filter to pass */
	struct identity *identity;
	_Atomic uint32_t parent; /* the process id whose memory ours is a copy
				  * of */
	_Atomic uint64_t cwd; /* high half: changes of the current directory so
			       * far; low half: number in progress */
	_Atomic bool spawn_opens; /* file actions with opens have been made */
	_Atomic bool nameless; /* the path of the current directory is too long,
			        * not reachable from the root, or in /proc: it
			        * would mean nothing to the reader later */
	_Atomic bool elsewhere; /* another root or mount namespace: names mean
				 * nothing to the reader, and our own file may
				 * not exist there */
};

/* State of a thread. */
struct self {
	uint32_t process; /* the id that `tid` belongs to */
	int32_t tid;
	int32_t vforked; /* pid of a vfork()ed child with another directory
			  * that used our memory last; 0: none */
	bool lending; /* inside of environ_lend() */
	void *leftover; /* mapping of an exec that succeeded; see environment.c */
	size_t leftover_size;
};

extern struct preload preload;
extern __thread struct self self __attribute__((tls_model("initial-exec")));

void attach(void);

/* Is there a reader? */
static inline bool live(void)
{
	int phase = atomic_load_explicit(&preload.phase, memory_order_acquire);

	if (unlikely(phase == PHASE_NEW)) {
		attach();
		phase = atomic_load_explicit(&preload.phase,
					     memory_order_acquire);
	}
	return phase == PHASE_LIVE &&
	       !atomic_load_explicit(&preload.log->closed,
				     memory_order_relaxed);
}

/* The id of this process; a fork that was not seen is reported first. */
uint32_t process_renew(void);
uint32_t process_notice(void);
static inline uint32_t process_id(void)
{
	uint32_t id = atomic_load_explicit(&preload.identity->process,
					   memory_order_relaxed);

	return likely(id) ? id : process_notice();
}

/* Is this a child of vfork() that has changed its directory?  Then its records would be
 * taken for its parent's: it must ask. */
bool self_is_borrowed_slow(void);
static inline bool self_is_borrowed(void)
{
	return unlikely(self.vforked) && self_is_borrowed_slow();
}

/* Does our memory belong to another process: is this a child of vfork()? */
bool self_is_vforked(void);

/* Logs the current directory after it has changed. */
void tell_directory(void);

/* A call that the filter allows. */
static inline long unseen_call(long nr, long a, long b, long c, long d)
{
	return raw_call_marked(nr, a, b, c, d,
			       (long)log_mark(preload.pass, (uint32_t)nr));
}

/* open() without a notification.  Not a cancellation point. */
int quiet_open(const char *path);

/* ---- ring.c ---- */

/* A record before it is written. */
struct telling {
	uint8_t kind; /* enum log_kind */
	uint8_t call; /* enum log_call */
	bool exact; /* read tid from the kernel */
	uint32_t flags;
	int32_t dirfd;
	int32_t dirfd2;
	int32_t value;
	uint32_t other;
	const char *path; /* may be NULL: empty */
	const char *path2;
	char *const *argv; /* instead of path2: arguments with NULs between */
	size_t path_len; /* set by tell(), cut at LOG_PATH_MAX */
	size_t path2_len;
	uint64_t cell; /* set by tell(): its first cell */
};

/* Is there room for a record of any size? */
bool ring_has_room(void);

/* Is this still the tick in which the run began?  False where the reader cannot be made
 * to look at once. */
bool ring_is_early(void);

/* Writes a record.  Without room: -ENOSPC at once, or with `patient` after a wait for
 * the reader; then the loss is noted. */
int tell(struct telling *t, bool patient);

/* Writes LOG_ASK and waits for the answer. */
void ask(struct telling *t);

/* Makes the reader read all records up to now. */
void tell_sync(void);

static inline void raise_generation(void)
{
	atomic_fetch_add_explicit(&preload.log->generation, 1,
				  memory_order_acq_rel);
}

/* The frame of every asked call; the result is negative on failure (with errno) and is
 * returned unchanged. */
bool ask_begin(struct telling *t);
long ask_end(bool asked, struct telling *t, long result);
#define ASKED(t, result)                                 \
	({                                               \
		bool asked_ = ask_begin(t);              \
		ask_end(asked_, t, PATIENTLY((result))); \
	})

/* A call with a notification can be interrupted until the reader has received it: a
 * signal whose handler does not request restarts makes it fail with EINTR, which it
 * never would by itself.  So it is restarted, with the former errno: a few times as it
 * is and at last with signals blocked.  If it is interrupted even then, EINTR comes
 * from the file system. */
enum {
	PATIENCE = 3,
	PATIENCE_EXEC = 10000, /* the new program would inherit the blocked
			        * signals */
};

struct patience {
	int saved; /* errno */
	int n;
	bool execs;
	bool held;
	uint64_t mask;
};

/* After an EINTR: is the call to be restarted? */
bool patience_is_left(struct patience *p);
void patience_end(const struct patience *p);

/* `harmless`: evaluated only after an EINTR; is EINTR certainly not the call's own? */
#define PATIENTLY_AS(is_exec, harmless, call)                        \
	({                                                           \
		struct patience patience_ = { .saved = errno,        \
					      .execs = (is_exec) };  \
		__typeof__(call) r_;                                 \
                                                                     \
		do                                                   \
			r_ = (call);                                 \
		while (unlikely((long)r_ == -1 && errno == EINTR) && \
		       (harmless) && patience_is_left(&patience_));  \
		if (unlikely(patience_.held))                        \
			patience_end(&patience_);                    \
		r_;                                                  \
	})
#define PATIENTLY_WHEN(harmless, call) PATIENTLY_AS(false, harmless, call)
#define PATIENTLY(call) PATIENTLY_AS(false, true, call)
#define EXEC_PATIENTLY(call) PATIENTLY_AS(true, true, call)

/* Blocks signals until signals_let_go(); false: not necessary.  For calls that do not
 * block themselves. */
bool signals_hold(uint64_t *ret_mask);
void signals_let_go(uint64_t mask);

/* Is it certain that opening the file does not block, as a FIFO's may?  errno is kept. */
bool opens_at_once(int dirfd, const char *path);

/* A pointer that is certainly invalid; the kernel will return EFAULT. */
static inline bool is_no_pointer(const void *p)
{
	return (uintptr_t)p < 4096 || (intptr_t)p < 0;
}

/* ---- environment.c ---- */

struct envp_plan {
	char *const *envp;
	void *map; /* to unmap; NULL: none */
	size_t size;
};

enum { ENVP_SMALL = 256 }; /* entries that fit on the stack */

/* Saves the two variables, of which `log` is the value of LOG_ENV, and removes them
 * from environ.  False when out of memory. */
bool environment_hide(const char *log);

/* The environment for a child: `envp` without our variables, and with them again if the
 * child can have the library (`bears`).  `small` has ENVP_SMALL entries. */
void envp_plan(struct envp_plan *plan, char *const *envp, bool bears,
	       char **small);
/* The exec has failed, or a spawn is done. */
void envp_release(struct envp_plan *plan);

/* Adds our variables to environ itself, for functions of libc that use it directly. */
void environ_lend(void);
void environ_return(void);
/* In a child of fork(): no other thread has it lent. */
void environ_reset(void);

/* ---- calls that other files use ---- */

/* open.c; `which` is the function the program called. */
int preload_open(enum next which, int dirfd, const char *path, int flags,
		 mode_t mode);

/* exec.c: can the program found for `file` have the library?  With `search` through
 * PATH; without a filter the exec is also asked for. */
struct exec_target {
	struct telling t;
	bool bears;
	bool asked;
	void *map; /* for the found path */
};
void exec_target_init(struct exec_target *x, int dirfd, const char *file,
		      int flags, char *const *argv, bool search);
long exec_target_done(struct exec_target *x, long result);

#endif
