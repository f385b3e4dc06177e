/* environment.c - two variables that only the loader and this library use.
 *
 * LD_PRELOAD (our library after the user's libraries) and LOG_ENV are removed from
 * the environment when the program starts.  They are appended again for every program
 * it executes that can load the library, whatever environment the caller passes.
 *
 * An exec may happen in a child of vfork(): allocation is not allowed, and a mapping
 * made there stays in the parent when the exec succeeds.  So an environment of usual
 * size is built on the stack.  For a larger one the thread remembers its mapping and
 * removes it the next time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

#define PRELOAD "LD_PRELOAD="

/* Both entries, as short as they usually are: what the library writes to when a
 * program starts shall be one page. */
static char usual[512];
static char *log_entry = usual;
static char *preload_entry = usual;

static bool is_preload(const char *entry)
{
	return strncmp(entry, PRELOAD, sizeof(PRELOAD) - 1) == 0;
}

static bool is_log(const char *entry)
{
	return strncmp(entry, LOG_ENV "=", sizeof(LOG_ENV)) == 0;
}

/* Where our library begins in an LD_PRELOAD entry, with its separator; NULL when
 * it is not the last there. */
static char *our_part(const char *entry)
{
	const char *ours = preload_entry + sizeof(PRELOAD) - 1;
	const char *value = entry + sizeof(PRELOAD) - 1;
	size_t len = strlen(value), n = strlen(ours);

	if (n == 0 || len < n || strcmp(value + len - n, ours) != 0)
		return NULL;
	if (len == n)
		return (char *)value;
	return value[len - n - 1] == ':' ? (char *)value + len - n - 1 : NULL;
}

/* Is there nothing but us in it? */
static bool is_only_us(const char *entry)
{
	return our_part(entry) == entry + sizeof(PRELOAD) - 1;
}

/* Takes us out of an array of entries, and out of the entries themselves: those
 * from the kernel can be read in /proc. */
static void hide_in(char **env)
{
	char **to = env;

	for (; *env; env++) {
		char *part = is_preload(*env) ? our_part(*env) : NULL;

		if (is_log(*env) && *env != log_entry) {
			memset(*env, 0, strlen(*env));
		} else if (part && is_only_us(*env)) {
			if (*env != preload_entry)
				memset(*env, 0, strlen(*env));
		} else if (*env != log_entry) {
			if (part)
				memset(part, 0, strlen(part));
			*to++ = *env;
		}
	}
	*to = NULL;
}

static void *map(size_t size)
{
	long m = raw_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return m < 0 && m > -4096 ? NULL : (void *)m;
}

bool environment_hide(const char *log)
{
	const char *ours = preload.log ? preload.log->preload : "";
	/* It was checked once, but the memory is shared. */
	size_t n_ours = strnlen(ours, LOG_PATH_MAX / 4 - 1);
	size_t n_log = strlen(log);
	size_t first = sizeof(PRELOAD) + n_ours;
	size_t size = first + sizeof(LOG_ENV) + n_log + 1;
	char *to = size <= sizeof(usual) ? usual : map(size);

	if (!to)
		return false;
	/* Fresh memory: the NULs at the ends are there. */
	memcpy(to, PRELOAD, sizeof(PRELOAD) - 1);
	memcpy(to + sizeof(PRELOAD) - 1, ours, n_ours);
	memcpy(to + first, LOG_ENV "=", sizeof(LOG_ENV));
	memcpy(to + first + sizeof(LOG_ENV), log, n_log);
	preload_entry = to;
	log_entry = to + first;
	hide_in(environ);
	return true;
}

/* ---- for children ---- */

/* What there is in an environment. */
struct census {
	size_t n;
	const char *preload; /* its LD_PRELOAD; NULL: none */
	bool has_us; /* in whatever way */
};

static struct census count(char *const *envp)
{
	struct census c = { 0 };

	for (; envp && envp[c.n]; c.n++) {
		if (is_preload(envp[c.n])) {
			c.preload = envp[c.n];
			c.has_us |= our_part(envp[c.n]) != NULL;
		} else if (is_log(envp[c.n])) {
			c.has_us = true;
		}
	}
	return c;
}

/* The LD_PRELOAD of a child, made of the program's own one; NULL: none. */
static const char *preload_for_child(const char *entry, bool bears, char *buf)
{
	const char *part = our_part(entry);
	size_t len = strlen(entry);

	if (bears == (part != NULL))
		return entry;
	if (!bears && is_only_us(entry))
		return NULL;
	if (!bears)
		len = (size_t)(part - entry);
	memcpy(buf, entry, len);
	buf[len] = '\0';
	if (bears) {
		const char *ours = preload_entry + sizeof(PRELOAD) - 1;

		buf[len] = ':';
		memcpy(buf + len + 1, ours, strlen(ours) + 1);
	}
	return buf;
}

static void arrange(char **to, char *const *envp, bool bears, char *buf)
{
	bool preloaded = false;

	for (; envp && *envp; envp++) {
		const char *entry = *envp;

		if (is_log(entry))
			continue;
		if (is_preload(entry) && !preloaded) {
			entry = preload_for_child(entry, bears, buf);
			preloaded = true;
		}
		if (entry)
			*to++ = (char *)entry;
	}
	if (bears) {
		if (!preloaded)
			*to++ = preload_entry;
		*to++ = log_entry;
	}
	*to = NULL;
}

static void forget_leftover(void)
{
	if (self.leftover)
		(void)raw_call(SYS_munmap, self.leftover, self.leftover_size);
	self.leftover = NULL;
}

void envp_plan(struct envp_plan *plan, char *const *envp, bool bears,
	       char **small)
{
	struct census c = count(envp);
	size_t entries = (c.n + 3) * sizeof(char *);
	char **to = small;

	*plan = (struct envp_plan){ .envp = envp };
	if (atomic_load(&preload.phase) != PHASE_LIVE || (!bears && !c.has_us))
		return;
	forget_leftover();
	if (c.preload || c.n + 3 > ENVP_SMALL) {
		plan->size = entries + strlen(preload_entry) + 3 +
			     (c.preload ? strlen(c.preload) : 0);
		plan->map = map(plan->size);
		if (!plan->map)
			return; /* the child goes without us */
		self.leftover = plan->map;
		self.leftover_size = plan->size;
		to = plan->map;
	}
	arrange(to, envp, bears, plan->map ? (char *)to + entries : NULL);
	plan->envp = to;
}

void envp_release(struct envp_plan *plan)
{
	if (plan->map)
		forget_leftover();
}

/* ---- for libc's own children ----
 *
 * system() and popen() execute a shell with environ as it stands, inside of libc.
 * To write them anew would mean to copy their dealings with signals, cancellation
 * and lists of streams.  Instead environ is another array while they run: the same
 * entries and ours behind.  Other threads that look see two variables more; what they
 * change is kept.  The array is never freed, because getenv() takes no lock. */

static struct {
	atomic_flag lock; /* spin lock of the fields below, held for a few
			   * instructions by any thread */
	unsigned users;
	char **before; /* environ without us */
	char **array;
	size_t size; /* bytes mapped there */
} lent = { .lock = ATOMIC_FLAG_INIT };

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&lent.lock,
						 memory_order_acquire))
		(void)raw_call(SYS_sched_yield, 0);
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&lent.lock, memory_order_release);
}

static bool make_array(void)
{
	struct census c = count(environ);
	size_t entries = (c.n + 3) * sizeof(char *);
	size_t size = entries + strlen(preload_entry) + 3 +
		      (c.preload ? strlen(c.preload) : 0);

	if (lent.size < size) {
		char **bigger = map(2 * size);

		if (!bigger)
			return false;
		lent.array = bigger;
		lent.size = 2 * size;
	}
	arrange(lent.array, environ, true, (char *)lent.array + entries);
	return true;
}

void environ_lend(void)
{
	lock();
	if (lent.users == 0 && make_array()) {
		lent.before = environ;
		environ = lent.array;
	}
	lent.users++;
	self.lending = true;
	unlock();
}

/* Is the lent array unchanged? */
static bool is_as_lent(void)
{
	char **a = lent.array, **b = lent.before;

	for (; *b; a++, b++)
		if (*a != *b && !(*a && is_preload(*a) && is_preload(*b)))
			return false;
	if (*a == preload_entry)
		a++;
	return *a == log_entry && !a[1];
}

static void take_back(void)
{
	if (!lent.before)
		return;
	if (environ == lent.array && is_as_lent()) {
		environ = lent.before;
	} else {
		/* setenv() or unsetenv() meanwhile: the array is theirs now. */
		hide_in(environ);
		if (environ == lent.array) {
			lent.array = NULL;
			lent.size = 0;
		}
	}
	lent.before = NULL;
}

void environ_return(void)
{
	lock();
	self.lending = false;
	if (--lent.users == 0)
		take_back();
	unlock();
}

/* In the child of a fork.  A child that an old popen() made for itself is about
 * to execute its shell and keeps what it was lent. */
void environ_reset(void)
{
	unlock();
	if (self.lending || lent.users == 0)
		return;
	lent.users = 0;
	take_back();
}
