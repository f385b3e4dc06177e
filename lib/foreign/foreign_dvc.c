/* foreign_dvc.c - the stages of a dvc.lock.
 *
 *	schema: '2.0'
 *	stages:
 *	  train:
 *	    cmd: python train.py
 *	    deps:
 *	    - path: data.csv
 *	      hash: md5
 *	      md5: 0123...
 *	      size: 12
 *	    outs:
 *	    - path: model.pt
 *	      ...
 *
 * The events of libyaml are followed by the path of keys that leads to each scalar:
 * "stages", NAME, "deps", "path".  Aliases are refused: they can make a small document
 * large. */
#include "foreign/foreign.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/str.h"

enum { DEPTH_MAX = 16 };

struct level {
	bool is_map;
	const char *key; /* of a map: the last one; NULL: a key comes next */
};

struct reading {
	struct pool *pool;
	const char *dir;
	struct foreign_runs *runs;
	struct foreign_run *run; /* of the current stage */
	struct foreign_file *file; /* of the current item of deps or outs */
	struct roar_error *err;
	struct level levels[DEPTH_MAX];
	int depth;
	bool has_stages;
};

static const char *key_at(const struct reading *r, int depth)
{
	return depth < r->depth && r->levels[depth].is_map &&
			       r->levels[depth].key ?
		       r->levels[depth].key :
		       "";
}

/* Are we at stages.NAME.deps or stages.NAME.outs? */
static bool in_files(const struct reading *r)
{
	const char *list = key_at(r, 2);

	return !strcmp(key_at(r, 0), "stages") &&
	       (!strcmp(list, "deps") || !strcmp(list, "outs"));
}

static const char *absolute(struct reading *r, const char *path)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	if (strstr(path, "://"))
		return pool_strdup(r->pool, path);
	path_normalize(&out, r->dir, path);
	return str_error(&out) < 0 ? NULL :
				     pool_strdup(r->pool, str_cstr(&out));
}

static int begin_file(struct reading *r, const char *path)
{
	r->file = foreign_add_file(r->runs, r->run, absolute(r, path),
				   !strcmp(key_at(r, 2), "outs"), r->err);
	if (!r->file)
		return -ENOMEM;
	r->file->is_remote = strstr(path, "://") != NULL;
	return 0;
}

static void set_md5(struct foreign_file *file, const char *hex)
{
	uint8_t bytes[DIGEST_MAX];

	/* "....dir" is a list of files, which only DVC's cache has. */
	if (strlen(hex) != 2 * sizeof(file->digests.md5) ||
	    digest_parse_hex(hex, bytes) < 0)
		return;
	memcpy(file->digests.md5, bytes, sizeof(file->digests.md5));
	file->digests.have |= 1 << DIGEST_MD5;
}

/* In an item, the keys come in any order, but the path is first in all that DVC writes; what
 * comes before it is not used. */
static int add_member(struct reading *r, const char *key, const char *value)
{
	int64_t size;

	if (!strcmp(key, "path"))
		return begin_file(r, value);
	if (!r->file)
		return 0;
	if (!strcmp(key, "md5"))
		set_md5(r->file, value);
	else if (!strcmp(key, "size") &&
		 number_parse(value, 0, INT64_MAX, &size) == 0)
		r->file->size = size;
	return 0;
}

static int add_command(struct reading *r, const char *text)
{
	const char *before = r->run->command;

	r->run->command = before ? pool_printf(r->pool, "%s && %s", before,
					       text) :
				   pool_strdup(r->pool, text);
	return r->run->command ? 0 : -ENOMEM;
}

static int begin_stage(struct reading *r, const char *name)
{
	struct foreign_run *run = foreign_add_run(r->runs, r->err);

	if (!run)
		return -ENOMEM;
	run->name = pool_strdup(r->pool, name);
	run->cwd = r->dir;
	r->run = run;
	return run->name ? 0 : -ENOMEM;
}

static int add_scalar(struct reading *r, const char *text)
{
	const char *key = key_at(r, r->depth - 1);

	if (strcmp(key_at(r, 0), "stages") != 0 || !r->run)
		return 0;
	if (!strcmp(key_at(r, 2), "cmd"))
		return add_command(r, text);
	return in_files(r) && r->depth == 5 ? add_member(r, key, text) : 0;
}

/* A scalar is a key, or the value of the last key, or an item. */
static int take_scalar(struct reading *r, const char *text)
{
	struct level *level = r->depth ? &r->levels[r->depth - 1] : NULL;
	int e;

	if (!level)
		return 0;
	if (level->is_map && !level->key) {
		level->key = pool_strdup(r->pool, text);
		if (!level->key)
			return -ENOMEM;
		if (r->depth == 1 && !strcmp(text, "stages"))
			r->has_stages = true;
		return r->depth == 2 && !strcmp(key_at(r, 0), "stages") ?
			       begin_stage(r, text) :
			       0;
	}
	e = add_scalar(r, text);
	if (level->is_map)
		level->key = NULL;
	return e;
}

static int begin_level(struct reading *r, bool is_map)
{
	if (r->depth == DEPTH_MAX)
		return error_set(r->err, -EINVAL,
				 "it is nested deeper than %d levels",
				 DEPTH_MAX);
	r->levels[r->depth++] = (struct level){ .is_map = is_map };
	r->file = NULL;
	return 0;
}

static void end_level(struct reading *r)
{
	r->depth--;
	r->file = NULL;
	if (r->depth && r->levels[r->depth - 1].is_map)
		r->levels[r->depth - 1].key = NULL;
}

static int take_event(struct reading *r, const yaml_event_t *event)
{
	const char *text;

	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return error_set(r->err, -EINVAL,
				 "line %zu has an alias, which dvc.lock does "
				 "not have",
				 event->start_mark.line + 1);
	case YAML_MAPPING_START_EVENT:
		return begin_level(r, true);
	case YAML_SEQUENCE_START_EVENT:
		return begin_level(r, false);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		end_level(r);
		return 0;
	case YAML_SCALAR_EVENT:
		text = (const char *)event->data.scalar.value;
		if (strlen(text) != event->data.scalar.length)
			return error_set(r->err, -EINVAL, "line %zu has a NUL",
					 event->start_mark.line + 1);
		return take_scalar(r, text);
	default:
		return 0;
	}
}

static int parse(yaml_parser_t *parser, struct reading *r)
{
	bool is_end = false;

	while (!is_end) {
		yaml_event_t event;
		int e;

		if (!yaml_parser_parse(parser, &event))
			return parser->error == YAML_MEMORY_ERROR ?
				       -ENOMEM :
				       error_set(r->err, -EINVAL,
						 "line %zu is not YAML: %s",
						 parser->problem_mark.line + 1,
						 parser->problem ?
							 parser->problem :
							 "unknown");
		is_end = event.type == YAML_STREAM_END_EVENT ||
			 event.type == YAML_DOCUMENT_END_EVENT;
		e = take_event(r, &event);
		yaml_event_delete(&event);
		if (e < 0)
			return e;
	}
	if (!r->has_stages)
		return error_set(r->err, -EINVAL, "it has no 'stages'");
	return 0;
}

/* What makes a stage the same as in an earlier import: its directory, name, command and
 * content. */
static int identify(struct reading *r)
{
	for (size_t i = 0; i < r->runs->n; i++) {
		struct foreign_run *run = &r->runs->list[i];
		CLEANUP(str_release) struct str id = STR_INIT;
		char hex[2 * DIGEST_MAX + 1];

		str_addf(&id, "%s\n%s\n%s\n", r->dir, run->name,
			 run->command ? run->command : "");
		for (size_t k = 0; k < run->n_files; k++) {
			digest_hex(hex, run->files[k].digests.md5,
				   sizeof(run->files[k].digests.md5));
			str_addf(&id, "%d %s %s\n", run->files[k].is_output,
				 hex, run->files[k].path);
		}
		run->id = str_error(&id) < 0 ?
				  NULL :
				  pool_dup(r->pool, id.data, id.len);
		if (!run->id)
			return -ENOMEM;
	}
	return 0;
}

int foreign_read_dvc(struct pool *pool, const char *text, size_t len,
		     const char *dir, struct foreign_runs *ret,
		     struct roar_error *err)
{
	struct foreign_runs runs = { .program = "dvc" };
	struct reading r = { .pool = pool,
			     .dir = dir,
			     .runs = &runs,
			     .err = err };
	yaml_parser_t parser;
	int e;

	if (!yaml_parser_initialize(&parser))
		return error_set(err, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	e = parse(&parser, &r);
	yaml_parser_delete(&parser);
	if (e == 0)
		e = identify(&r);
	if (e == 0) {
		*ret = runs;
		return 0;
	}
	foreign_release(&runs);
	return err->text[0] ? e : error_set(err, e, "out of memory");
}
