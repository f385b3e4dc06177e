/* machine.h - the machine that a run was on: hardware, system, container, limits, cloud.
 *
 * Hardware does not change while the system is up, so what takes long to find out (the
 * CPUs, the GPUs) is kept in the user's cache until the next boot.  The cloud is known by
 * the strings of the firmware; nothing asks the network. */
#ifndef ROAR_CAPTURE_MACHINE_H
#define ROAR_CAPTURE_MACHINE_H

#include <stdbool.h>

#include "capture/packages.h"

struct json;

/* Writes the document of kind SITUATION_MACHINE:
 *
 *	{"host": "", "os": "Debian GNU/Linux 12 (bookworm)", "kernel": "", "arch": "",
 *	 "cpu": {"model": "", "sockets": N, "cores": N, "threads": N}, "memory_bytes": N,
 *	 "gpus": [{"index": N, "name": "", "uuid": "", "memory_bytes": N}],
 *	 "driver": "", "cuda": "", "cloud": {"vendor": "", "product": ""},
 *	 "container": {"kind": "", "image": ""}, "cgroup": {"cpus": N, "memory_bytes": N},
 *	 "notes": ["SENTENCE"]}
 *
 * What is not known, or does not apply, is null or left out.  `nvml` is as for
 * gpus_find(). */
void machine_write(const struct capture_system *system, const char *nvml,
		   struct json *json);

#endif
