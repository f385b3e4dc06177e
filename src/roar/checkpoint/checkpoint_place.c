/* checkpoint_place.c - see checkpoint_place.h */
#include "checkpoint/checkpoint_place.h"

#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "cli/cli.h"
#include "hash/jobs/hasher.h"

enum { PARALLEL = 16 }; /* requests to an object store */

int checkpoint_fail(int r, const struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	if (!err->text[0])
		return cli_fail("%s", strerror(-r));
	quote_printable(&shown, err->text, strlen(err->text));
	return cli_fail("%s", str_cstr(&shown));
}

void checkpoint_place_release(struct checkpoint_place *p)
{
	for (size_t i = 0; i < p->n_replicas; i++)
		blob_close(p->replicas[i]);
	blob_closep(&p->store);
}

/* "runs/a/step-000000000100/" is base "runs/a" and its step; false: it is a base. */
static bool split_step(const char *operand, struct str *base, uint64_t *ret)
{
	size_t len = strlen(operand);
	const char *slash;

	while (len > 1 && operand[len - 1] == '/')
		len--;
	str_add(base, operand, len);
	slash = base->data ? strrchr(base->data, '/') : NULL;
	if (!base->data ||
	    !ckpt_name_parse_step(slash ? slash + 1 : base->data, ret))
		return false;
	if (!slash) {
		str_clear(base);
		str_addc(base, '.');
	} else {
		base->len = (size_t)(slash - base->data);
		base->data[base->len] = '\0';
	}
	if (!base->len) /* "/step-…" */
		str_addc(base, '/');
	return true;
}

static int open_replicas(struct checkpoint_place *p, const struct args *args)
{
	for (size_t i = 0; i < args->n_options; i++) {
		struct roar_error err = { 0 };
		int r;

		if (strcmp(args->options[i].spec->name, "replica") != 0)
			continue;
		if (p->n_replicas == CKPT_READER_REPLICAS_MAX)
			return cli_usage(args->command,
					 "at most %d replicas can be named",
					 CKPT_READER_REPLICAS_MAX);
		r = blob_open(args->options[i].value, false, PARALLEL,
			      &p->replicas[p->n_replicas], &err);
		if (r < 0)
			return checkpoint_fail(r, &err);
		p->n_replicas++;
	}
	return 0;
}

static int open_base(struct checkpoint_place *p, const struct args *args,
		     const char *base, bool create)
{
	struct roar_error err = { 0 };
	int r = blob_open(base, create, PARALLEL, &p->store, &err);

	if (r < 0)
		return checkpoint_fail(r, &err);
	p->n_threads = (unsigned)args_number(args, "threads", 0);
	return 0;
}

int checkpoint_place_is_base(const struct args *args, const char *operand)
{
	CLEANUP(str_release) struct str base = STR_INIT;
	uint64_t step;

	if (!split_step(operand, &base, &step))
		return 0;
	return cli_usage(args->command,
			 "'%.200s' is the name of a checkpoint: name the "
			 "directory above it",
			 operand);
}

int checkpoint_place_base(struct checkpoint_place *p, const struct args *args,
			  const char *operand, bool create)
{
	int status = checkpoint_place_is_base(args, operand);

	return status ? status : open_base(p, args, operand, create);
}

int checkpoint_place_find(struct checkpoint_place *p, const struct args *args,
			  const char *operand)
{
	CLEANUP(str_release) struct str base = STR_INIT;
	bool has_step = split_step(operand, &base, &p->step);
	struct roar_error err = { 0 };
	int status, r;

	if (has_step && args_has(args, "step"))
		return cli_usage(args->command,
				 "'%.200s' has a step already: --step is for "
				 "the directory above it",
				 operand);
	status = open_base(p, args, str_cstr(&base), false);
	if (!status)
		status = open_replicas(p, args);
	if (status || has_step)
		return status;
	if (args_has(args, "step")) {
		p->step = (uint64_t)args_number(args, "step", 0);
		return 0;
	}
	r = ckpt_store_latest(p->store, &p->step, &err);
	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

static bool show_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct checkpoint_place *p = ctx;

	progress_show(&p->progress, &(struct hasher_progress){
					    .bytes_done = done,
					    .bytes_submitted = total,
					    .bytes_read = done,
				    });
	return false;
}

static void pass_damage(void *ctx, const struct ckpt_damage *d)
{
	struct checkpoint_place *p = ctx;

	if (p->damage)
		p->damage(p->ctx, d);
}

int checkpoint_place_open(struct checkpoint_place *p, const char *verb,
			  struct ckpt_reader **ret)
{
	const struct ckpt_reader_options options = {
		.n_threads = p->n_threads,
		.page_cache = p->page_cache,
		.replicas = p->replicas,
		.n_replicas = p->n_replicas,
		.damage = pass_damage,
		.look = show_progress,
		.ctx = p,
	};
	struct roar_error err = { 0 };
	int r = ckpt_reader_open(p->store, p->step, &options, ret, &err);

	if (r < 0)
		return checkpoint_fail(r, &err);
	p->progress = progress_start(true, NULL);
	p->progress.verb = verb;
	return 0;
}
