/* gpu_memory.h - the GPU memory that the processes of a run used at most, per GPU.
 *
 * A thread of its own asks NVML which processes use each GPU, every two seconds, at first
 * more often.  It sees processes with a compute context and only those of our PID
 * namespace: in a container without the host's, NVML lists none.  A peak between two
 * samples is missed.
 *
 * The driver may block any call for minutes.  No function here waits for it, except
 * gpu_memory_end(), for GPU_TIMEOUT_MS: then the thread is abandoned.  What it uses is
 * freed by the last of both. */
#ifndef ROAR_CAPTURE_GPU_MEMORY_H
#define ROAR_CAPTURE_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/gpu.h"

enum { GPU_MEMORY_INTERVAL_MS = 2000 };

struct gpu_memory;

struct gpu_peaks {
	struct gpu_peak {
		bool used; /* a process of the run was seen on it */
		uint64_t bytes; /* of all its processes at once; 0: unknown */
	} list[GPUS_MAX]; /* by NVML's index */
};

/* Is this a file that a process opens to use a GPU of NVIDIA: a device, or the library of
 * its driver? */
bool gpu_memory_is_sign(const char *path, size_t len);

/* Starts the thread.  `nvml` as for gpus_find().  0 or a negative errno. */
int gpu_memory_start(const char *nvml, unsigned interval_ms,
		     struct gpu_memory **ret);

/* A process belongs to the run from now on, or has ended.  On any thread. */
void gpu_memory_add(struct gpu_memory *m, pid_t pid);
void gpu_memory_remove(struct gpu_memory *m, pid_t pid);

/* Ends the thread and frees `m`, which may be NULL.  `ret_peaks` may be NULL; an abandoned
 * thread has left the peaks of its samples until then. */
void gpu_memory_end(struct gpu_memory *m, struct gpu_peaks *ret_peaks);

#endif
