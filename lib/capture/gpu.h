/* gpu.h - the GPUs of the machine and their driver.
 *
 * NVIDIA's come from NVML, which is loaded at run time and called on a thread of its own:
 * a driver in trouble may block any call for minutes.  A thread that has not answered in
 * time is abandoned.  Without NVML the driver's files in /proc have less: no memory.
 * AMD's come from /sys. */
#ifndef ROAR_CAPTURE_GPU_H
#define ROAR_CAPTURE_GPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	GPUS_MAX = 64,
	GPU_TEXT = 96,
	GPU_TIMEOUT_MS = 500,
};

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct gpu {
	char name[GPU_TEXT];
	char uuid[GPU_TEXT]; /* "": unknown */
	uint64_t memory_bytes; /* 0: unknown */
};

struct gpus {
	struct gpu list[GPUS_MAX];
	unsigned n;
	char driver[GPU_TEXT]; /* "": none, or unknown */
	char cuda[GPU_TEXT]; /* the newest version that the driver supports */
	bool timed_out; /* NVML did not answer */
};

/* `root` is put before /proc and /sys.  `nvml` is the name of the library; NULL: the usual
 * one.  Takes up to GPU_TIMEOUT_MS.  -ENOMEM. */
int gpus_find(const char *root, const char *nvml, struct gpus *ret);

/* Detaches a thread that hangs in NVML.  From now on the program ends without the exit
 * functions of libraries, which could wait for it. */
void gpu_abandon(pthread_t thread);

#endif
