/* gpu.c - see gpu.h */
#include "capture/gpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/str.h"
#include "base/thread.h"
#include "capture/package_database.h"

enum { FILE_MAX_BYTES = 64 * 1024 };

/* ---- NVML ---- */

/* The part of its interface that is used: the same in every version since 2014. */
struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml {
	void *library;
	int (*init)(void);
	int (*driver)(char *text, unsigned size);
	int (*cuda)(int *version);
	int (*count)(unsigned *n);
	int (*device)(unsigned index, void **ret);
	int (*name)(void *device, char *text, unsigned size);
	int (*uuid)(void *device, char *text, unsigned size);
	int (*memory)(void *device, struct nvml_memory *ret);
};

/* Between the thread and its caller.  The last of both frees it. */
struct probe {
	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t ended;
	bool done;
	bool abandoned;
	int result;
	struct gpus found;
	char library[256];
};

static int load_nvml(struct nvml *n, const char *library)
{
	const struct {
		const char *name;
		void **to;
	} symbols[] = {
		{ "nvmlInit_v2", (void **)&n->init },
		{ "nvmlSystemGetDriverVersion", (void **)&n->driver },
		{ "nvmlSystemGetCudaDriverVersion", (void **)&n->cuda },
		{ "nvmlDeviceGetCount_v2", (void **)&n->count },
		{ "nvmlDeviceGetHandleByIndex_v2", (void **)&n->device },
		{ "nvmlDeviceGetName", (void **)&n->name },
		{ "nvmlDeviceGetUUID", (void **)&n->uuid },
		{ "nvmlDeviceGetMemoryInfo", (void **)&n->memory },
	};

	n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		*symbols[i].to = dlsym(n->library, symbols[i].name);
		if (!*symbols[i].to)
			return -ENOSYS;
	}
	return n->init() == 0 ? 0 : -EIO;
}

static void ask_device(const struct nvml *n, unsigned index, struct gpu *ret)
{
	struct nvml_memory memory = { 0 };
	void *device;

	if (n->device(index, &device) != 0)
		return;
	(void)n->name(device, ret->name, sizeof(ret->name) - 1);
	(void)n->uuid(device, ret->uuid, sizeof(ret->uuid) - 1);
	if (n->memory(device, &memory) == 0)
		ret->memory_bytes = memory.total;
}

static int ask_nvml(const char *library, struct gpus *ret)
{
	struct nvml n = { 0 };
	unsigned count = 0;
	int version = 0;
	int r = load_nvml(&n, library);

	if (r < 0)
		return r;
	(void)n.driver(ret->driver, sizeof(ret->driver) - 1);
	if (n.cuda(&version) == 0 && version > 0)
		(void)snprintf(ret->cuda, sizeof(ret->cuda), "%d.%d",
			       version / 1000, version % 1000 / 10);
	if (n.count(&count) != 0)
		return -EIO;
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++)
		ask_device(&n, i, &ret->list[ret->n++]);
	return 0;
}

static void free_probe(struct probe *p)
{
	(void)pthread_cond_destroy(&p->ended);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

static void *run_probe(void *arg)
{
	struct gpus *found = calloc(1, sizeof(*found));
	struct probe *p = arg;
	bool abandoned;
	int r = found ? ask_nvml(p->library, found) : -ENOMEM;

	(void)pthread_mutex_lock(&p->lock);
	if (r == 0)
		p->found = *found;
	p->result = r;
	p->done = true;
	abandoned = p->abandoned;
	(void)pthread_cond_signal(&p->ended);
	(void)pthread_mutex_unlock(&p->lock);
	free(found);
	if (abandoned)
		free_probe(p);
	return NULL;
}

/* The library's own functions at exit could wait for the thread that hangs. */
static void leave(int status, void *unused)
{
	(void)unused;
	(void)fflush(NULL);
	_exit(status);
}

void gpu_abandon(pthread_t thread)
{
	(void)pthread_detach(thread);
	(void)on_exit(leave, NULL);
}

static struct probe *new_probe(const char *library)
{
	struct probe *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	if (!p)
		return NULL;
	(void)snprintf(p->library, sizeof(p->library), "%s", library);
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&p->ended, &attr);
	(void)pthread_condattr_destroy(&attr);
	return p;
}

/* Waits for the thread; false: it is abandoned. */
static bool await(struct probe *p)
{
	struct timespec until;
	bool done;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GPU_TIMEOUT_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	(void)pthread_mutex_lock(&p->lock);
	while (!p->done &&
	       pthread_cond_timedwait(&p->ended, &p->lock, &until) == 0)
		;
	done = p->done;
	p->abandoned = !done;
	(void)pthread_mutex_unlock(&p->lock);
	return done;
}

static int probe_nvml(const char *library, struct gpus *ret)
{
	struct probe *p = new_probe(library);
	pthread_t thread;
	int r;

	if (!p)
		return -ENOMEM;
	r = thread_start(&thread, NULL, run_probe, p);
	if (r < 0) {
		free_probe(p);
		return r;
	}
	if (!await(p)) {
		gpu_abandon(thread);
		ret->timed_out = true;
		return -ETIME;
	}
	(void)pthread_join(thread, NULL);
	r = p->result;
	if (r == 0)
		*ret = p->found;
	free_probe(p);
	return r;
}

/* ---- files ---- */

static bool read_text(const char *root, const char *path, struct str *out)
{
	CLEANUP(str_release) struct str full = STR_INIT;

	str_addf(&full, "%s%s", root, path);
	return str_error(&full) == 0 &&
	       package_file_read(AT_FDCWD, full.data, FILE_MAX_BYTES, out) == 0;
}

static void copy_field(const struct str *text, const char *field, char *to)
{
	const char *value;
	size_t len;

	if (package_field(str_cstr(text), text->len, field, &value, &len)) {
		while (len && (*value == ' ' || *value == '\t')) {
			value++;
			len--;
		}
		(void)snprintf(to, GPU_TEXT, "%.*s",
			       (int)(len < GPU_TEXT ? len : GPU_TEXT), value);
	}
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ..." */
static void read_driver_version(const char *root, struct gpus *g)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *at;

	if (!read_text(root, "/proc/driver/nvidia/version", &text))
		return;
	at = strstr(str_cstr(&text), "Kernel Module");
	at = at ? at + strcspn(at, "0123456789\n") : "";
	(void)snprintf(g->driver, sizeof(g->driver), "%.*s",
		       (int)strspn(at, "0123456789."), at);
}

static void read_nvidia_files(const char *root, struct gpus *g)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(closedirp) DIR *dir = NULL;
	struct dirent *entry;

	read_driver_version(root, g);
	str_addf(&path, "%s/proc/driver/nvidia/gpus", root);
	dir = str_error(&path) == 0 ? opendir(path.data) : NULL;
	while (dir && (entry = readdir(dir)) && g->n < GPUS_MAX) {
		char file[512];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file),
			       "/proc/driver/nvidia/gpus/%s/information",
			       entry->d_name);
		if (!read_text(root, file, &text))
			continue;
		copy_field(&text, "Model", g->list[g->n].name);
		copy_field(&text, "GPU UUID", g->list[g->n].uuid);
		g->n++;
	}
}

static void copy_line(char *to, const char *text)
{
	(void)snprintf(to, GPU_TEXT, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Cards of AMD: the driver says how much memory they have. */
static void read_amd_files(const char *root, struct gpus *g)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	for (int card = 0; card < GPUS_MAX && g->n < GPUS_MAX; card++) {
		struct gpu *gpu = &g->list[g->n];
		char path[128];
		char total[GPU_TEXT];
		int64_t bytes;

		(void)snprintf(
			path, sizeof(path),
			"/sys/class/drm/card%d/device/mem_info_vram_total",
			card);
		if (!read_text(root, path, &text))
			continue;
		copy_line(total, str_cstr(&text));
		if (number_parse(total, 0, INT64_MAX, &bytes) < 0)
			continue;
		*gpu = (struct gpu){ .name = "AMD GPU",
				     .memory_bytes = (uint64_t)bytes };
		(void)snprintf(path, sizeof(path),
			       "/sys/class/drm/card%d/device/product_name",
			       card);
		if (read_text(root, path, &text) && text.len > 1)
			copy_line(gpu->name, text.data);
		(void)snprintf(path, sizeof(path),
			       "/sys/class/drm/card%d/device/unique_id", card);
		if (read_text(root, path, &text))
			copy_line(gpu->uuid, str_cstr(&text));
		g->n++;
	}
}

static bool has_nvidia(const char *root)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	str_addf(&path, "%s/proc/driver/nvidia/version", root);
	return str_error(&path) == 0 && access(path.data, F_OK) == 0;
}

int gpus_find(const char *root, const char *nvml, struct gpus *ret)
{
	int r = 0;

	*ret = (struct gpus){ 0 };
	if (has_nvidia(root)) {
		r = probe_nvml(nvml ? nvml : NVML_LIBRARY, ret);
		if (r < 0)
			read_nvidia_files(root, ret);
	}
	read_amd_files(root, ret);
	return r == -ENOMEM ? r : 0;
}
