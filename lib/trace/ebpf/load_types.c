/* load_types.c - finds the kernel types that programs need, in a thread of its own:
 * that takes as long as making the maps, which do not need them */
#include "trace/ebpf/load_internal.h"

#include <errno.h>

#include "base/cpus.h"
#include "base/thread.h"
#include "trace/ebpf/btf.h"

/* Fills `names` with all that must be found in the kernel's types. */
static size_t wanted_names(const struct image *image, const char **names,
			   char (*targets)[128])
{
	size_t n = 0;

	for (size_t i = 0; i < image->n_fields; i++)
		names[n++] = image->fields[i].type;
	for (size_t i = 0; i < image->n_programs; i++) {
		load_target_name(&image->programs[i], targets[i], 128);
		names[n++] = targets[i];
	}
	return n;
}

static int open_types(struct btf **ret)
{
	static const struct image *const images[] = { &ebpf_tracepoint,
						      &ebpf_trampoline };
	const char *names[2 * LOAD_NAMES_MAX];
	char targets[2][EBPF_LINKS_MAX][128];
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		if (images[i]->n_fields + images[i]->n_programs >
			    LOAD_NAMES_MAX ||
		    images[i]->n_programs > EBPF_LINKS_MAX)
			return -E2BIG;
		n += wanted_names(images[i], names + n, targets[i]);
	}
	return btf_open(NULL, names, n, ret);
}

static void *find_types(void *arg)
{
	struct load_types *t = arg;

	t->error = open_types(&t->btf);
	return NULL;
}

void load_types_start(struct load_types *t)
{
	t->started = cpus_allowed() > 1 &&
		     thread_start(&t->thread, NULL, find_types, t) == 0;
	if (!t->started)
		(void)find_types(t);
}

int load_types_await(struct load_types *t)
{
	if (t->started)
		(void)pthread_join(t->thread, NULL);
	t->started = false;
	return t->error;
}
