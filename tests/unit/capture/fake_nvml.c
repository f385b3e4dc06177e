/* fake_nvml.c - stands for NVIDIA's library in test_machine.c. */
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
	static int devices[2];

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
