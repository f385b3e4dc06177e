/* ckpt_manifest_read.c - a manifest from its text
 *
 * Here the types and bounds of single members are checked; ckpt_manifest_check() then looks
 * whether they agree. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/macros.h"
#include "ckpt/ckpt_manifest.h"

struct reading {
	struct ckpt_manifest *m;
	const char *path;
	const char *list; /* which member is read: NULL, "files" or "tensors" */
	char key[64]; /* which of its elements */
	struct roar_error *err;
};

static void json_freep(json_t **value)
{
	json_decref(*value);
}

/* The sentence for a member that is not as it should be. */
static int refuse(const struct reading *r, const char *member,
		  const char *expected)
{
	if (r->list)
		return error_set(r->err, -EBADMSG, "'%s': %s[%s].%s is not %s",
				 r->path, r->list, r->key, member, expected);
	return error_set(r->err, -EBADMSG, "'%s': %s is not %s", r->path,
			 member, expected);
}

/* ---- values ---- */

static int take_number(struct reading *r, const json_t *value,
		       const char *member, uint64_t max, uint64_t *ret)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
		return refuse(r, member, "a number in range");
	*ret = (uint64_t)number;
	return 0;
}

static int get_number(struct reading *r, const json_t *object,
		      const char *member, uint64_t max, uint64_t *ret)
{
	return take_number(r, json_object_get(object, member), member, max,
			   ret);
}

static int get_u32(struct reading *r, const json_t *object, const char *member,
		   uint32_t max, uint32_t *ret)
{
	uint64_t number = 0;
	int error = get_number(r, object, member, max, &number);

	if (error == 0)
		*ret = (uint32_t)number;
	return error;
}

static int take_text(struct reading *r, const json_t *value, const char *member,
		     const char **ret)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) != json_string_length(value))
		return refuse(r, member, "a string");
	*ret = pool_strdup(&r->m->pool, text);
	return *ret ? 0 : -ENOMEM;
}

static int get_text(struct reading *r, const json_t *object, const char *member,
		    const char **ret)
{
	return take_text(r, json_object_get(object, member), member, ret);
}

/* A string, or null or nothing. */
static int get_optional(struct reading *r, const json_t *object,
			const char *member, const char **ret)
{
	const json_t *value = json_object_get(object, member);

	if (!value || json_is_null(value))
		return 0;
	return take_text(r, value, member, ret);
}

/* Any JSON, as compact text. */
static int get_json(struct reading *r, const json_t *object, const char *member,
		    const char **ret)
{
	json_t *value = json_object_get(object, member);
	CLEANUP(freep) char *text = NULL;

	if (!value || json_is_null(value))
		return 0;
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		return -ENOMEM;
	*ret = pool_strdup(&r->m->pool, text);
	return *ret ? 0 : -ENOMEM;
}

static int get_digest(struct reading *r, const json_t *object,
		      const char *member, uint8_t digest[BLAKE3_LEN])
{
	const json_t *value = json_object_get(object, member);
	const char *text = json_string_value(value);

	if (json_string_length(value) != 2 * BLAKE3_LEN)
		return refuse(r, member, "64 hex digits");
	for (int i = 0; i < BLAKE3_LEN; i++) {
		int byte = hex_byte(text + 2 * (size_t)i);

		if (byte < 0)
			return refuse(r, member, "64 hex digits");
		digest[i] = (uint8_t)byte;
	}
	return 0;
}

/* Numbers of a shape or an offset; *n_dims is how many there must be, or -1. */
static int take_dims(struct reading *r, const json_t *array, const char *member,
		     int n_dims, const uint64_t **ret, unsigned *ret_n)
{
	size_t n = json_array_size(array);
	uint64_t *dims;

	if (!json_is_array(array) || n > CKPT_MAX_DIMS ||
	    (n_dims >= 0 && n != (size_t)n_dims))
		return refuse(r, member, "a list of that many dimensions");
	dims = pool_alloc(&r->m->pool, (n + 1) * sizeof(*dims));
	if (!dims)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int error = take_number(r, json_array_get(array, i), member,
					CKPT_MAX_BYTES, &dims[i]);

		if (error < 0)
			return error;
	}
	*ret = dims;
	if (ret_n)
		*ret_n = (unsigned)n;
	return 0;
}

/* ---- files ---- */

static int take_extent(struct reading *r, const json_t *array,
		       struct ckpt_extent *e)
{
	int error;

	if (json_array_size(array) != 4)
		return refuse(r, "extents", "a list of lists of 4");
	error = take_number(r, json_array_get(array, 0), "extents",
			    CKPT_MAX_BYTES, &e->first_leaf);
	if (error == 0)
		error = take_number(r, json_array_get(array, 1), "extents",
				    CKPT_MAX_BYTES, &e->n_leaves);
	if (error == 0)
		error = take_text(r, json_array_get(array, 2), "extents",
				  &e->path);
	if (error == 0)
		error = take_number(r, json_array_get(array, 3), "extents",
				    CKPT_MAX_BYTES, &e->offset);
	return error;
}

static int get_extents(struct reading *r, const json_t *object,
		       struct ckpt_file *f)
{
	const json_t *list = json_object_get(object, "extents");
	int error = 0;

	if (!json_is_array(list))
		return refuse(r, "extents", "a list");
	f->n_extents = json_array_size(list);
	f->extents = pool_zalloc(&r->m->pool,
				 (f->n_extents + 1) * sizeof(*f->extents));
	if (!f->extents)
		return -ENOMEM;
	for (size_t i = 0; error == 0 && i < f->n_extents; i++)
		error = take_extent(r, json_array_get(list, i), &f->extents[i]);
	return error;
}

static int take_file(struct reading *r, const json_t *object,
		     struct ckpt_file *f)
{
	int error = get_u32(r, object, "rank", CKPT_MAX_WORLD, &f->rank);

	if (error == 0)
		error = get_optional(r, object, "name", &f->name);
	if (error == 0)
		error = get_number(r, object, "size", CKPT_MAX_BYTES,
				   &f->size_bytes);
	if (error == 0)
		error = get_digest(r, object, "blake3", f->blake3);
	if (error == 0)
		error = get_text(r, object, "tree", &f->tree);
	if (error == 0)
		error = get_u32(r, object, "leaf_bytes", B3_LEAF_MAX,
				&f->leaf_bytes);
	if (error == 0)
		error = get_number(r, object, "data_bytes", CKPT_MAX_BYTES,
				   &f->data_bytes);
	return error ? error : get_extents(r, object, f);
}

static int get_files(struct reading *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "files");
	struct ckpt_manifest *m = r->m;
	int error = 0;

	if (!json_is_array(list) || json_array_size(list) > CKPT_MAX_WORLD)
		return refuse(r, "files", "a list of files");
	m->n_files = json_array_size(list);
	m->files = pool_zalloc(&m->pool, (m->n_files + 1) * sizeof(*m->files));
	if (!m->files)
		return -ENOMEM;
	r->list = "files";
	for (size_t i = 0; error == 0 && i < m->n_files; i++) {
		(void)snprintf(r->key, sizeof(r->key), "%zu", i);
		error = take_file(r, json_array_get(list, i), &m->files[i]);
	}
	r->list = NULL;
	return error;
}

/* ---- tensors ---- */

static int take_part(struct reading *r, const json_t *object,
		     const struct ckpt_tensor *t, struct ckpt_part *p)
{
	int error = get_u32(r, object, "file", CKPT_MAX_WORLD, &p->file);

	if (error == 0)
		error = take_dims(r, json_object_get(object, "offset"),
				  "parts.offset", (int)t->n_dims, &p->offset,
				  NULL);
	if (error == 0)
		error = take_dims(r, json_object_get(object, "shape"),
				  "parts.shape", (int)t->n_dims, &p->shape,
				  NULL);
	return error ? error :
		       get_number(r, object, "at", CKPT_MAX_BYTES, &p->at);
}

static int take_tensor(struct reading *r, const json_t *object,
		       struct ckpt_tensor *t)
{
	const char *dtype = json_string_value(json_object_get(object, "dtype"));
	const json_t *parts = json_object_get(object, "parts");
	int error;

	if (!dtype || ckpt_dtype_parse(dtype, &t->dtype) < 0)
		return refuse(r, "dtype", "a type that this version knows");
	error = take_dims(r, json_object_get(object, "shape"), "shape", -1,
			  &t->shape, &t->n_dims);
	if (error < 0)
		return error;
	if (!json_is_array(parts))
		return refuse(r, "parts", "a list");
	t->n_parts = json_array_size(parts);
	t->parts = pool_zalloc(&r->m->pool,
			       (t->n_parts + 1) * sizeof(*t->parts));
	if (!t->parts)
		return -ENOMEM;
	for (size_t i = 0; error == 0 && i < t->n_parts; i++)
		error = take_part(r, json_array_get(parts, i), t, &t->parts[i]);
	return error;
}

static int get_tensors(struct reading *r, const json_t *root)
{
	json_t *object = json_object_get(root, "tensors");
	struct ckpt_manifest *m = r->m;
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return refuse(r, "tensors", "an object");
	m->tensors = pool_zalloc(&m->pool, (json_object_size(object) + 1) *
						   sizeof(*m->tensors));
	if (!m->tensors)
		return -ENOMEM;
	r->list = "tensors";
	json_object_foreach(object, name, value)
	{
		struct ckpt_tensor *t = &m->tensors[m->n_tensors++];
		int error;

		(void)snprintf(r->key, sizeof(r->key), "%s", name);
		t->name = pool_strdup(&m->pool, name);
		error = t->name ? take_tensor(r, value, t) : -ENOMEM;
		if (error < 0)
			return error;
	}
	r->list = NULL;
	return 0;
}

/* ---- the rest ---- */

static int get_metrics(struct reading *r, const json_t *root)
{
	json_t *object = json_object_get(root, "metrics");
	struct ckpt_metric *metrics;
	const char *name;
	json_t *value;

	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object) || json_object_size(object) > CKPT_MAX_LIST)
		return refuse(r, "metrics", "an object of numbers");
	metrics = pool_zalloc(&r->m->pool, (json_object_size(object) + 1) *
						   sizeof(*metrics));
	if (!metrics)
		return -ENOMEM;
	r->m->metrics = metrics;
	json_object_foreach(object, name, value)
	{
		struct ckpt_metric *metric = &metrics[r->m->n_metrics++];

		/* JSON has no NaN: it is written as null. */
		if (!json_is_number(value) && !json_is_null(value))
			return refuse(r, "metrics", "an object of numbers");
		metric->value = json_is_null(value) ? NAN :
						      json_number_value(value);
		metric->name = pool_strdup(&r->m->pool, name);
		if (!metric->name)
			return -ENOMEM;
	}
	return 0;
}

static int get_tags(struct reading *r, const json_t *root)
{
	const json_t *list = json_object_get(root, "tags");
	size_t n = json_array_size(list);
	const char **tags;
	int error = 0;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list) || n > CKPT_MAX_LIST)
		return refuse(r, "tags", "a list of strings");
	tags = pool_zalloc(&r->m->pool, (n + 1) * sizeof(*tags));
	if (!tags)
		return -ENOMEM;
	r->m->tags = tags;
	r->m->n_tags = n;
	for (size_t i = 0; error == 0 && i < n; i++)
		error = take_text(r, json_array_get(list, i), "tags", &tags[i]);
	return error;
}

static int get_version(struct reading *r, const json_t *root)
{
	const char *member = r->m->is_part ? "roar_checkpoint_part" :
					     "roar_checkpoint";
	uint64_t version = 0;
	int error = get_number(r, root, member, INT64_MAX, &version);

	if (error < 0)
		return error;
	if (version > CKPT_MANIFEST_VERSION)
		return error_set(r->err, -ENOTSUP,
				 "'%s' has format %llu, and this version of "
				 "roar reads up to %d: use a newer roar",
				 r->path, (unsigned long long)version,
				 CKPT_MANIFEST_VERSION);
	return version ? 0 : refuse(r, member, "a version");
}

static int get_save(struct reading *r, const json_t *root)
{
	const char *save = json_string_value(json_object_get(root, "save"));

	if (!save || !ckpt_name_is_save_id(save))
		return refuse(r, "save", "8 hex digits");
	memcpy(r->m->save, save, sizeof(r->m->save));
	return 0;
}

static int get_facts(struct reading *r, const json_t *root)
{
	struct ckpt_manifest *m = r->m;
	const struct {
		const char *name;
		uint64_t max;
		uint64_t *to;
	} numbers[] = {
		{ "step", CKPT_MAX_STEP, &m->step },
		{ "epoch", INT64_MAX, &m->epoch },
		{ "world_epoch", INT64_MAX, &m->world_epoch },
		{ "fencing_token", INT64_MAX, &m->fencing_token },
	};
	int error = get_version(r, root);

	for (size_t i = 0; error == 0 && i < ARRAY_SIZE(numbers); i++)
		error = get_number(r, root, numbers[i].name, numbers[i].max,
				   numbers[i].to);
	if (error == 0)
		error = get_u32(r, root, "world_size", CKPT_MAX_WORLD,
				&m->world_size);
	if (error == 0)
		error = get_save(r, root);
	if (error == 0)
		error = get_optional(r, root, "created", &m->created);
	if (error == 0)
		error = get_optional(r, root, "job", &m->job);
	return error ? error : get_optional(r, root, "parent", &m->parent);
}

static int read_root(struct reading *r, const json_t *root)
{
	struct ckpt_manifest *m = r->m;
	int error = get_facts(r, root);

	if (error == 0)
		error = get_metrics(r, root);
	if (error == 0)
		error = get_tags(r, root);
	if (error == 0)
		error = get_json(r, root, "state", &m->state);
	if (error == 0)
		error = get_json(r, root, "data_position", &m->data_position);
	if (error == 0)
		error = get_json(r, root, "rng", &m->rng);
	if (error == 0)
		error = get_files(r, root);
	if (error == 0)
		error = get_tensors(r, root);
	if (error == 0)
		error = ckpt_manifest_check(m, r->path, r->err);
	return error ? error : ckpt_manifest_index(m);
}

int ckpt_manifest_read(struct ckpt_manifest *m, const char *text, size_t len,
		       bool is_part, const char *path, struct roar_error *err)
{
	struct reading r = { .m = m, .path = path, .err = err };
	json_error_t why;
	CLEANUP(json_freep) json_t *root = NULL;
	int error;

	*m = CKPT_MANIFEST_INIT;
	m->is_part = is_part;
	if (len > CKPT_MANIFEST_MAX)
		return error_set(err, -EBADMSG, "'%s' is too long", path);
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
			  &why);
	if (!json_is_object(root))
		return error_set(err, -EBADMSG,
				 "'%s' is not the manifest of a checkpoint: %s",
				 path, root ? "not a JSON object" : why.text);
	error = read_root(&r, root);
	if (error < 0)
		ckpt_manifest_release(m);
	return error;
}
