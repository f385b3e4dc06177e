/* checkpoint_export.c - `roar checkpoint export`: one safetensors file
 *
 * The file is laid out first; then it is the destination of a load, through a mapping.  Its
 * space is allocated before, so that a full disk is an error and not a signal.  It gets its
 * name when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "ckpt/ckpt_layout.h"
#include "cli/cli.h"

struct output {
	const char *path;
	struct str temporary; /* its name until it is complete; empty: none */
	int fd;
	char *map;
	struct ckpt_layout layout;
	struct ckpt_item *items;
	struct ckpt_want *wants;
};

static void output_release(struct output *o)
{
	if (o->map)
		(void)munmap(o->map, o->layout.size_bytes);
	closep(&o->fd);
	if (o->temporary.len)
		(void)unlink(o->temporary.data);
	str_release(&o->temporary);
	ckpt_layout_release(&o->layout);
	free(o->items);
	free(o->wants);
}

static int lay_out(struct output *o, const struct ckpt_manifest *m,
		   struct roar_error *err)
{
	o->items = calloc(m->n_tensors + 1, sizeof(*o->items));
	o->wants = calloc(m->n_tensors + 1, sizeof(*o->wants));
	if (!o->items || !o->wants)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_tensors; i++)
		o->items[i] = (struct ckpt_item){
			.name = m->tensors[i].name,
			.dtype = m->tensors[i].dtype,
			.n_dims = m->tensors[i].n_dims,
			.shape = m->tensors[i].shape,
		};
	return ckpt_layout_init(&o->layout, o->items, m->n_tensors, err);
}

static int make_file(struct output *o, struct roar_error *err)
{
	int r;

	str_addf(&o->temporary, "%s.%ld.tmp", o->path, (long)getpid());
	if (str_error(&o->temporary) < 0)
		return -ENOMEM;
	o->fd = open(o->temporary.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		     0666);
	r = o->fd < 0 ? -errno :
			-posix_fallocate(o->fd, 0, (off_t)o->layout.size_bytes);
	if (o->fd < 0)
		str_clear(&o->temporary);
	if (r == 0) {
		o->map = mmap(NULL, o->layout.size_bytes,
			      PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
		if (o->map == MAP_FAILED) {
			o->map = NULL;
			r = -errno;
		}
	}
	if (r < 0)
		return error_set(err, r, "cannot write '%.500s': %s", o->path,
				 strerror(-r));
	return 0;
}

static int fill_file(struct output *o, struct ckpt_reader *reader,
		     struct roar_error *err)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(reader);

	memcpy(o->map, o->layout.header.data, o->layout.header.len);
	for (size_t i = 0; i < m->n_tensors; i++)
		o->wants[i] = (struct ckpt_want){
			.tensor = m->tensors[i].name,
			.to = o->map + o->items[i].at,
			.to_bytes = o->items[i].n_bytes,
		};
	return ckpt_reader_load(reader, o->wants, m->n_tensors, err);
}

static int finish_file(struct output *o, struct roar_error *err)
{
	int r = 0;

	if (munmap(TAKE_PTR(o->map), o->layout.size_bytes) < 0 ||
	    fsync(o->fd) < 0 || rename(o->temporary.data, o->path) < 0)
		r = error_set(err, -errno, "cannot write '%.500s': %s", o->path,
			      strerror(errno));
	else
		str_clear(&o->temporary);
	return r;
}

static int print_summary(const struct output *o, int64_t took_ns)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	format_count(&out, o->layout.n_items, "tensor");
	str_adds(&out, ", ");
	format_size(&out, o->layout.size_bytes);
	str_adds(&out, " in ");
	clock_format_duration(&out, took_ns);
	str_addc(&out, '\n');
	return cli_print(&out);
}

int checkpoint_export(const struct args *args)
{
	CLEANUP(checkpoint_place_release)
	struct checkpoint_place p = CHECKPOINT_PLACE_INIT;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	CLEANUP(output_release) struct output o = { .fd = -1 };
	int64_t start_ns = clock_mono_ns();
	struct roar_error err = { 0 };
	int status, r;

	if (args_has(args, "torch"))
		return cli_fail("a torch file needs torch: use "
				"roar.checkpoint.export_torch(BASE, FILE, "
				"STEP) in Python");
	o.path = args->operands[2];
	status = checkpoint_place_find(&p, args, args->operands[1]);
	if (!status) {
		p.page_cache = true; /* reads into a mapped file */
		status = checkpoint_place_open(&p, "exporting", &reader);
	}
	if (status)
		return status;
	r = lay_out(&o, ckpt_reader_manifest(reader), &err);
	if (r == 0)
		r = make_file(&o, &err);
	if (r == 0)
		r = fill_file(&o, reader, &err);
	progress_end(&p.progress);
	if (r == 0)
		r = finish_file(&o, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	return print_summary(&o, clock_mono_ns() - start_ns);
}
