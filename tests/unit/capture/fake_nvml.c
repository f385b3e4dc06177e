/* fake_nvml.c - stands for NVIDIA's library.
 *
 * ROAR_TEST_NVML is "fail" or "hang": so does its start.  ROAR_TEST_NVML_FILE names a
 * file with the processes, as lines "GPU PID BYTES", or the word "fail" or "hang".
 * FILE.asked is made whenever GPU 0 is asked for them, before FILE is read, and FILE.hung
 * when it hangs. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
EXPORT int nvmlSystemGetCudaDriverVersion(int *version);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);

#ifdef FAKE_OLD /* before MIG */
#define RUNNING_PROCESSES nvmlDeviceGetComputeRunningProcesses
#else
#define RUNNING_PROCESSES nvmlDeviceGetComputeRunningProcesses_v2
#endif

struct process {
	unsigned pid;
	unsigned long long bytes;
#ifndef FAKE_OLD
	unsigned gpu_instance, compute_instance;
#endif
};

EXPORT int RUNNING_PROCESSES(void *device, unsigned *n, struct process *list);

static int devices[2];

int nvmlInit_v2(void)
{
	const char *how = getenv("ROAR_TEST_NVML");

	while (how && strcmp(how, "hang") == 0)
		(void)pause();
	return how && strcmp(how, "fail") == 0 ? 9 : 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	(void)strncpy(text, "550.54.15", size);
	return 0;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
	*version = 12040;
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
	*ret = &devices[index];
	return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
	(void)device;
	(void)strncpy(text, "NVIDIA H100", size);
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
	(void)device;
	(void)strncpy(text, "GPU-1234", size);
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
	(void)device;
	memory[0] = 85899345920;
	return 0;
}

static void tell(const char *file, const char *what)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s.%s", file, what);
	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void hang(const char *file)
{
	tell(file, "hung");
	while (true)
		(void)pause();
}

static int read_processes(FILE *f, const char *file, unsigned gpu, unsigned *n,
			  struct process *list)
{
	enum { UNKNOWN = 999, INSUFFICIENT_SIZE = 7 };
	unsigned room = *n;
	char line[256];

	*n = 0;
	while (fgets(line, sizeof(line), f)) {
		struct process p = { 0 };
		unsigned on;

		if (strcmp(line, "hang\n") == 0)
			hang(file);
		if (sscanf(line, "%u %u %llu", &on, &p.pid, &p.bytes) != 3)
			return UNKNOWN;
		if (on == gpu && (*n)++ < room)
			list[*n - 1] = p;
	}
	return *n > room ? INSUFFICIENT_SIZE : 0;
}

int RUNNING_PROCESSES(void *device, unsigned *n, struct process *list)
{
	unsigned gpu = device == &devices[1];
	const char *file = getenv("ROAR_TEST_NVML_FILE");
	FILE *f;
	int r;

	if (!file)
		return 1;
	if (gpu == 0)
		tell(file, "asked");
	f = fopen(file, "re");
	if (!f)
		return 1;
	r = read_processes(f, file, gpu, n, list);
	(void)fclose(f);
	return r;
}
