/* gpu_memory.c - see gpu_memory.h */
#include "capture/gpu_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "base/path.h"
#include "base/thread.h"

enum {
	PID_LIMIT = 4 * 1024 * 1024, /* of the kernel, on 64 bits */
	FIRST_MS = 125, /* the first interval; each is twice the one before */
	PROCESSES_MIN = 16, /* of one GPU: first size of the buffer */
	PROCESSES_MAX = 64 * 1024,
};

struct gpu_memory {
	/* Protects all below, up to `thread`: between the thread that samples and those
	 * that add processes or end it.  Never held while NVML is called. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* `stop` or `done` */
	bool stop, done, abandoned;
	struct gpu_peaks peaks;
	uint64_t pids[PID_LIMIT / 64]; /* a bit for each process of the run */

	pthread_t thread; /* this and what follows is set before it runs */
	unsigned interval_ms;
	char library[256];
};

/* ---- NVML ---- */

enum { NVML_INSUFFICIENT_SIZE = 7 };
#define NVML_NOT_AVAILABLE UINT64_MAX

/* The beginning of an entry is the same in all versions. */
struct nvml_process {
	unsigned pid;
	unsigned long long bytes;
};

/* The largest entry that a version of the library writes. */
enum { ENTRY_MAX = 32 };

struct nvml {
	int (*init)(void);
	int (*count)(unsigned *n);
	int (*device)(unsigned index, void **ret);
	int (*processes)(void *device, unsigned *n, void *entries);
	size_t entry_bytes;
	unsigned n_gpus;
	char *entries; /* of one answer */
	unsigned cap;
};

/* Version 3 has entries of 32 bytes in the drivers 535.43 to 535.86 and of 24 in all
 * others: version 2 is asked first. */
static int load_processes(struct nvml *n, void *library)
{
	static const struct {
		const char *name;
		size_t entry_bytes;
	} versions[] = {
		{ "nvmlDeviceGetComputeRunningProcesses_v2", 24 },
		{ "nvmlDeviceGetComputeRunningProcesses_v3", 24 },
		{ "nvmlDeviceGetComputeRunningProcesses", 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		*(void **)&n->processes = dlsym(library, versions[i].name);
		n->entry_bytes = versions[i].entry_bytes;
		if (n->processes)
			return 0;
	}
	return -ENOSYS;
}

/* The library stays loaded: its threads may run on. */
static int load_nvml(struct nvml *n, const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ENOENT;
	*(void **)&n->init = dlsym(library, "nvmlInit_v2");
	*(void **)&n->count = dlsym(library, "nvmlDeviceGetCount_v2");
	*(void **)&n->device = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	if (!n->init || !n->count || !n->device ||
	    load_processes(n, library) < 0)
		return -ENOSYS;
	if (n->init() != 0 || n->count(&n->n_gpus) != 0)
		return -EIO;
	if (n->n_gpus > GPUS_MAX)
		n->n_gpus = GPUS_MAX;
	return 0;
}

static bool grow(struct nvml *n, unsigned cap)
{
	char *entries;

	if (cap > PROCESSES_MAX)
		return false;
	entries = realloc(n->entries, (size_t)cap * ENTRY_MAX);
	if (!entries)
		return false;
	n->entries = entries;
	n->cap = cap;
	return true;
}

/* Fills n->entries; how many, or a negative errno. */
static int ask_processes(struct nvml *n, unsigned gpu)
{
	enum { TRIES = 4 }; /* processes may start meanwhile */
	void *device;

	if (n->device(gpu, &device) != 0)
		return -EIO;
	for (int i = 0; i < TRIES; i++) {
		unsigned count = n->cap;
		int r = n->processes(device, &count, n->entries);

		if (r == 0)
			return (int)(count < n->cap ? count : n->cap);
		if (r != NVML_INSUFFICIENT_SIZE)
			return -EIO;
		if (!grow(n, count < n->cap ? n->cap * 2 : count + count / 2))
			return -ENOMEM;
	}
	return -EAGAIN;
}

/* ---- samples ---- */

static bool has_pid(const struct gpu_memory *m, unsigned pid)
{
	return pid < PID_LIMIT && m->pids[pid / 64] >> pid % 64 & 1;
}

static void note(struct gpu_memory *m, const struct nvml *n, unsigned gpu,
		 int n_entries)
{
	struct gpu_peak *peak = &m->peaks.list[gpu];
	uint64_t bytes = 0;

	(void)pthread_mutex_lock(&m->lock);
	for (int i = 0; i < n_entries; i++) {
		struct nvml_process p;

		memcpy(&p, n->entries + (size_t)i * n->entry_bytes, sizeof(p));
		if (!has_pid(m, p.pid))
			continue;
		peak->used = true;
		if (p.bytes != NVML_NOT_AVAILABLE)
			bytes += p.bytes;
	}
	if (bytes > peak->bytes)
		peak->bytes = bytes;
	(void)pthread_mutex_unlock(&m->lock);
}

static struct timespec time_in(unsigned ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms % 1000 * 1000000L;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	return t;
}

/* Waits until *flag or the time is over; returns the flag. */
static bool await(struct gpu_memory *m, const bool *flag, unsigned ms)
{
	struct timespec until = time_in(ms);

	while (!*flag &&
	       pthread_cond_timedwait(&m->changed, &m->lock, &until) == 0)
		;
	return *flag;
}

static bool is_stopped_within(struct gpu_memory *m, unsigned ms)
{
	bool stop;

	(void)pthread_mutex_lock(&m->lock);
	stop = await(m, &m->stop, ms);
	(void)pthread_mutex_unlock(&m->lock);
	return stop;
}

static void sample(struct gpu_memory *m, struct nvml *n)
{
	unsigned ms = FIRST_MS;

	do {
		for (unsigned i = 0; i < n->n_gpus; i++)
			note(m, n, i, ask_processes(n, i));
		if (ms > m->interval_ms)
			ms = m->interval_ms;
		if (is_stopped_within(m, ms))
			return;
		ms *= 2;
	} while (true);
}

static void free_memory(struct gpu_memory *m)
{
	(void)pthread_cond_destroy(&m->changed);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

static void *run_sampler(void *arg)
{
	struct gpu_memory *m = arg;
	struct nvml n = { 0 };
	bool abandoned;

	if (load_nvml(&n, m->library) == 0 && grow(&n, PROCESSES_MIN))
		sample(m, &n);
	free(n.entries);

	(void)pthread_mutex_lock(&m->lock);
	m->done = true;
	abandoned = m->abandoned;
	(void)pthread_cond_broadcast(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
	if (abandoned)
		free_memory(m);
	return NULL;
}

/* ---- for the run ---- */

bool gpu_memory_is_sign(const char *path, size_t len)
{
	static const char device[] = "/dev/nvidia";
	static const char library[] = "libcuda.so";
	if (len > strlen(device) && memcmp(path, device, strlen(device)) == 0) {
		const char *rest = path + strlen(device);

		return strcmp(rest, "ctl") == 0 ||
		       (*rest >= '0' && *rest <= '9');
	}
	return strncmp(path_basename(path), library, strlen(library)) == 0;
}

int gpu_memory_start(const char *nvml, unsigned interval_ms,
		     struct gpu_memory **ret)
{
	struct gpu_memory *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;
	int r;

	if (!m)
		return -ENOMEM;
	m->interval_ms = interval_ms;
	(void)snprintf(m->library, sizeof(m->library), "%s",
		       nvml ? nvml : NVML_LIBRARY);
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&m->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	r = thread_start(&m->thread, NULL, run_sampler, m);
	if (r < 0) {
		free_memory(m);
		return r;
	}
	*ret = m;
	return 0;
}

static void set_pid(struct gpu_memory *m, pid_t pid, bool on)
{
	uint64_t bit = 1ULL << (unsigned)pid % 64;

	if (pid <= 0 || pid >= PID_LIMIT)
		return;
	(void)pthread_mutex_lock(&m->lock);
	if (on)
		m->pids[pid / 64] |= bit;
	else
		m->pids[pid / 64] &= ~bit;
	(void)pthread_mutex_unlock(&m->lock);
}

void gpu_memory_add(struct gpu_memory *m, pid_t pid)
{
	set_pid(m, pid, true);
}

void gpu_memory_remove(struct gpu_memory *m, pid_t pid)
{
	set_pid(m, pid, false);
}

void gpu_memory_end(struct gpu_memory *m, struct gpu_peaks *ret_peaks)
{
	pthread_t thread;
	bool done;

	if (!m)
		return;
	thread = m->thread; /* an abandoned thread may free `m` at once */
	(void)pthread_mutex_lock(&m->lock);
	m->stop = true;
	(void)pthread_cond_broadcast(&m->changed);
	done = await(m, &m->done, GPU_TIMEOUT_MS);
	m->abandoned = !done;
	if (ret_peaks)
		*ret_peaks = m->peaks;
	(void)pthread_mutex_unlock(&m->lock);
	if (!done) {
		gpu_abandon(thread);
		return;
	}
	(void)pthread_join(thread, NULL);
	free_memory(m);
}
