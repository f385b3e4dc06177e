/* save.c - saves a checkpoint whose tensors have known bytes, by the public API.
 *
 *	save [OPTION...] URL STEP TENSOR...
 *
 *	--parent NAME	--threads N	--rank R/W	--save-id ID	--state JSON
 *	--part		phase one of a sharded save only
 *	--commit	and phase two
 *	--async		by a saver; --twice: and the next step by the same one
 *	--refuse	the commit is not confirmed
 *	--wait FILE	after phase one, until FILE exists
 *	--hold		and at the end, until standard input is closed
 *
 * A TENSOR is NAME,DTYPE,SHAPE,SEED[,OFFSET,PART], shapes as 2x3 ("" for a scalar).  Byte i of
 * its part is (i * 31 + (i >> 8) * 7 + (i >> 20) * 13 + SEED) mod 256.
 *
 * Prints the result as JSON, or the error to stderr; exits with 1 after an error, and with 3
 * if that was EEXIST. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <roar/checkpoint.h>

enum { MAX_TENSORS = 20000, MAX_DIMS = 8 };

static struct roar_checkpoint_tensor tensors[MAX_TENSORS];
static uint64_t dims[MAX_TENSORS][3][MAX_DIMS];

static struct {
	bool is_part, commits, is_async, is_twice, refuses, holds;
	const char *wait;
} o;

static void stop(const char *text)
{
	fprintf(stderr, "save: %s\n", text);
	exit(2);
}

static uint32_t parse_shape(char *text, uint64_t *ret)
{
	uint32_t n = 0;

	for (char *p = strtok(text, "x"); p; p = strtok(NULL, "x"))
		ret[n++] = strtoull(p, NULL, 10);
	return n;
}

static size_t dtype_bytes(const char *dtype)
{
	if (strncmp(dtype, "F8", 2) == 0)
		return 1;
	return strstr(dtype, "64") ? 8 :
	       strstr(dtype, "32") ? 4 :
	       strstr(dtype, "16") ? 2 :
				     1;
}

static void fill(uint8_t *data, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 20) * 13 +
				    seed);
}

static void parse_tensor(char *text, size_t i)
{
	struct roar_checkpoint_tensor *t = &tensors[i];
	char *fields[6] = { "", "", "", "0", NULL, NULL };
	size_t len = 1;
	uint8_t *data;

	for (int k = 0; text && k < 6; k++)
		fields[k] = strsep(&text, ",");
	t->name = fields[0];
	t->dtype = fields[1];
	t->n_dims = parse_shape(fields[2], dims[i][0]);
	t->shape = dims[i][0];
	if (fields[4] && fields[5]) {
		(void)parse_shape(fields[4], dims[i][1]);
		(void)parse_shape(fields[5], dims[i][2]);
		t->part_offset = dims[i][1];
		t->part_shape = dims[i][2];
	}
	len = dtype_bytes(t->dtype);
	for (uint32_t d = 0; d < t->n_dims; d++)
		len *= (t->part_shape ? t->part_shape : t->shape)[d];
	data = malloc(len + 1);
	if (!data)
		stop("no memory");
	fill(data, len, (unsigned)atoi(fields[3]));
	t->data = data;
}

static int refuse(void *ctx, const uint8_t digest[32])
{
	(void)ctx;
	(void)digest;
	return o.refuses ? -EPERM : 0;
}

static int save_async(struct roar_checkpoint_save *s,
		      struct roar_checkpoint_result *ret)
{
	struct roar_checkpoint_saver *saver;
	uint64_t done, total;
	int r = roar_checkpoint_saver_new(&saver);

	if (r == 0)
		r = roar_checkpoint_saver_start(saver, s);
	/* The saver has its own copy. */
	for (size_t i = 0; i < s->n_tensors; i++)
		*(uint8_t *)(uintptr_t)tensors[i].data ^= 0xff;
	if (r == 0 && o.is_twice) {
		for (size_t i = 0; i < s->n_tensors; i++)
			*(uint8_t *)(uintptr_t)tensors[i].data ^= 0xff;
		s->step++;
		r = roar_checkpoint_saver_start(saver, s);
	}
	if (r == 0)
		(void)roar_checkpoint_saver_progress(saver, &done, &total);
	if (r == 0)
		r = roar_checkpoint_saver_wait(saver, -1, ret);
	if (r == 0 && (roar_checkpoint_saver_progress(saver, &done, &total) ||
		       done != total))
		stop("the progress is wrong");
	if (r == 0 && roar_checkpoint_saver_wait(saver, -1, ret) != -ENOENT)
		stop("a result was returned twice");
	roar_checkpoint_saver_free(saver);
	return r;
}

static int save_part(struct roar_checkpoint_save *s,
		     struct roar_checkpoint_result *ret)
{
	struct roar_checkpoint_part *part = NULL;
	int r = roar_checkpoint_write_part(s, &part, ret);

	while (r == 0 && o.wait && access(o.wait, F_OK) < 0)
		(void)usleep(1000);
	if (r == 0 && o.commits)
		r = roar_checkpoint_commit(part, refuse, NULL);
	if (o.holds) {
		puts("written");
		(void)fflush(stdout);
		(void)getchar();
	}
	if (r < 0)
		roar_checkpoint_part_abort(part);
	else
		roar_checkpoint_part_free(part);
	return r;
}

static char **parse_options(char **argv, struct roar_checkpoint_save *s)
{
	for (; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
		const char *name = *argv + 2;

		if (strcmp(name, "part") == 0)
			o.is_part = true;
		else if (strcmp(name, "commit") == 0)
			o.is_part = o.commits = true;
		else if (strcmp(name, "async") == 0)
			o.is_async = true;
		else if (strcmp(name, "twice") == 0)
			o.is_async = o.is_twice = true;
		else if (strcmp(name, "refuse") == 0)
			o.refuses = true;
		else if (strcmp(name, "hold") == 0)
			o.holds = true;
		else if (!argv[1])
			stop("an option lacks its value");
		else if (strcmp(name, "parent") == 0)
			s->parent = *++argv;
		else if (strcmp(name, "state") == 0)
			s->state = *++argv;
		else if (strcmp(name, "save-id") == 0)
			s->save_id = *++argv;
		else if (strcmp(name, "threads") == 0)
			s->n_threads = (uint32_t)atoi(*++argv);
		else if (strcmp(name, "wait") == 0)
			o.wait = *++argv;
		else if (strcmp(name, "rank") == 0)
			(void)sscanf(*++argv, "%u/%u", &s->rank,
				     &s->world_size);
		else
			stop(name);
	}
	return argv;
}

int main(int argc, char **argv)
{
	static const struct roar_checkpoint_metric metric = { "loss", 0.25 };
	static const char *const tag = "best";
	struct roar_checkpoint_save s = { .tensors = tensors,
					  .epoch = 3,
					  .metrics = &metric,
					  .n_metrics = 1,
					  .tags = &tag,
					  .n_tags = 1 };
	struct roar_checkpoint_result result = { "", "", 0, 0, { 0 } };
	int r;

	(void)argc;
	argv = parse_options(argv + 1, &s);
	if (!argv[0] || !argv[1])
		stop("usage: save [OPTION...] URL STEP TENSOR...");
	s.url = argv[0];
	s.step = strtoull(argv[1], NULL, 10);
	for (argv += 2; *argv && s.n_tensors < MAX_TENSORS; argv++)
		parse_tensor(*argv, s.n_tensors++);
	r = o.is_async ? save_async(&s, &result) :
	    o.is_part  ? save_part(&s, &result) :
			 roar_checkpoint_save(&s, &result);
	if (r < 0) {
		fprintf(stderr, "%s\n", roar_checkpoint_error());
		return r == -EEXIST ? 3 : 1;
	}
	printf("{\"name\":\"%s\",\"save\":\"%s\",\"size\":%llu,"
	       "\"written\":%llu}\n",
	       result.name, result.save_id,
	       (unsigned long long)result.size_bytes,
	       (unsigned long long)result.written_bytes);
	return 0;
}
