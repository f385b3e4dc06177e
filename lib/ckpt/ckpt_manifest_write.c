/* ckpt_manifest_write.c - the text of a manifest */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "ckpt/ckpt_manifest.h"

static void put_number(struct json *j, const char *key, uint64_t value)
{
	json_put_key(j, key);
	json_put_int(j, (int64_t)value);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	json_put_key(j, key);
	json_put_string(j, text);
}

static void put_json(struct json *j, const char *key, const char *text)
{
	json_put_key(j, key);
	if (text)
		json_put_raw(j, text, strlen(text));
	else
		json_put_null(j);
}

static void put_digest(struct json *j, const uint8_t digest[BLAKE3_LEN])
{
	char hex[2 * BLAKE3_LEN + 1];
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < BLAKE3_LEN; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[2 * BLAKE3_LEN] = '\0';
	put_text(j, "blake3", hex);
}

static void put_dims(struct json *j, const char *key, const uint64_t *dims,
		     unsigned n)
{
	json_put_key(j, key);
	json_put_array(j);
	for (unsigned i = 0; i < n; i++)
		json_put_int(j, (int64_t)dims[i]);
	json_end(j);
}

static void put_extents(struct json *j, const struct ckpt_file *f)
{
	json_put_key(j, "extents");
	json_put_array(j);
	for (size_t i = 0; i < f->n_extents; i++) {
		const struct ckpt_extent *e = &f->extents[i];

		json_put_array(j);
		json_put_int(j, (int64_t)e->first_leaf);
		json_put_int(j, (int64_t)e->n_leaves);
		json_put_string(j, e->path);
		json_put_int(j, (int64_t)e->offset);
		json_end(j);
	}
	json_end(j);
}

static void put_files(struct json *j, const struct ckpt_manifest *m)
{
	json_put_key(j, "files");
	json_put_array(j);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];

		json_put_object(j);
		put_number(j, "rank", f->rank);
		put_text(j, "name", f->name);
		put_number(j, "size", f->size_bytes);
		put_digest(j, f->blake3);
		put_text(j, "tree", f->tree);
		put_number(j, "leaf_bytes", f->leaf_bytes);
		put_number(j, "data_bytes", f->data_bytes);
		put_extents(j, f);
		json_end(j);
	}
	json_end(j);
}

static void put_tensor(struct json *j, const struct ckpt_tensor *t)
{
	json_put_key(j, t->name);
	json_put_object(j);
	put_text(j, "dtype", ckpt_dtype_name(t->dtype));
	put_dims(j, "shape", t->shape, t->n_dims);
	json_put_key(j, "parts");
	json_put_array(j);
	for (size_t i = 0; i < t->n_parts; i++) {
		const struct ckpt_part *p = &t->parts[i];

		json_put_object(j);
		put_number(j, "file", p->file);
		put_dims(j, "offset", p->offset, t->n_dims);
		put_dims(j, "shape", p->shape, t->n_dims);
		put_number(j, "at", p->at);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void put_facts(struct json *j, const struct ckpt_manifest *m)
{
	put_number(j, m->is_part ? "roar_checkpoint_part" : "roar_checkpoint",
		   CKPT_MANIFEST_VERSION);
	put_number(j, "step", m->step);
	put_number(j, "epoch", m->epoch);
	put_text(j, "save", m->save);
	put_text(j, "created", m->created);
	put_number(j, "world_size", m->world_size);
	put_number(j, "world_epoch", m->world_epoch);
	put_number(j, "fencing_token", m->fencing_token);
	put_text(j, "job", m->job);
	put_text(j, "parent", m->parent);
	json_put_key(j, "metrics");
	json_put_object(j);
	for (size_t i = 0; i < m->n_metrics; i++) {
		json_put_key(j, m->metrics[i].name);
		json_put_double(j, m->metrics[i].value);
	}
	json_end(j);
	json_put_key(j, "tags");
	json_put_array(j);
	for (size_t i = 0; i < m->n_tags; i++)
		json_put_string(j, m->tags[i]);
	json_end(j);
}

void ckpt_manifest_write(const struct ckpt_manifest *m, struct str *out)
{
	struct json j = json_writer(out, false);

	json_put_object(&j);
	put_facts(&j, m);
	put_json(&j, "state", m->state);
	put_json(&j, "data_position", m->data_position);
	put_json(&j, "rng", m->rng);
	put_files(&j, m);
	json_put_key(&j, "tensors");
	json_put_object(&j);
	for (size_t i = 0; i < m->n_tensors; i++)
		put_tensor(&j, &m->tensors[i]);
	json_end(&j);
	json_end(&j);
	str_addc(out, '\n');
}
