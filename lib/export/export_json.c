/* export_json.c - see export_json.h */
#include "export/export_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "export/export_set.h"
#include "hash/file/file_hash.h"
#include "query/query.h"
#include "store/store.h"
#include "store/store_situation.h"

void json_member(struct json *j, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_put_key(j, key);
	json_put_string(j, text);
}

void json_memberf(struct json *j, const char *key, const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	j->out->failed |= text.failed;
	json_member(j, key, str_cstr(&text));
}

void json_time(struct json *j, const char *key, int64_t time_ns)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	clock_format_iso(&text, time_ns);
	j->out->failed |= text.failed;
	json_member(j, key, str_cstr(&text));
}

void json_digests(struct json *j, const char *key, const struct digests *d,
		  const char *const names[DIGEST_ALGO_END])
{
	char hex[2 * DIGEST_MAX + 1];

	json_put_key(j, key);
	json_put_object(j);
	for (unsigned a = 0; a < DIGEST_ALGO_END; a++) {
		const uint8_t *bytes = names[a] ? digests_get(d, a) : NULL;

		if (!bytes)
			continue;
		digest_hex(hex, bytes, digest_algo_len(a));
		json_member(j, names[a], hex);
	}
	json_end(j);
}

int64_t export_end_ns(const struct store_job *job)
{
	return job->started_ns + job->duration_ns;
}

/* ---- identifiers ---- */

static int format_uuid(const char *text, int version, int64_t time_ms,
		       char ret[EXPORT_UUID_SIZE])
{
	struct digests d;
	uint8_t *b = d.blake3;
	int r = digest_buffer(text, strlen(text), DIGEST_SET_BLAKE3, &d);

	if (r < 0)
		return r;
	for (int i = 0; time_ms && i < 6; i++)
		b[i] = (uint8_t)(time_ms >> (40 - 8 * i));
	b[6] = (uint8_t)((b[6] & 0x0f) | (version << 4));
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	(void)snprintf(ret, EXPORT_UUID_SIZE,
		       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		       "%02x%02x%02x%02x%02x%02x",
		       b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
		       b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

int export_uuid(const char *text, char ret[EXPORT_UUID_SIZE])
{
	return format_uuid(text, 8, 0, ret);
}

int export_uuid_at(int64_t time_ns, const char *text,
		   char ret[EXPORT_UUID_SIZE])
{
	return format_uuid(text, 7, time_ns / 1000000, ret);
}

void export_add_uri(struct str *out, const char *path)
{
	static const char plain[] = "-._~!$&'()*+,;=:@/";

	for (const char *c = path; *c; c++) {
		unsigned char u = (unsigned char)*c;

		if ((u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') ||
		    (u >= 'a' && u <= 'z') || strchr(plain, u))
			str_addc(out, *c);
		else
			str_addf(out, "%%%02X", u);
	}
}

/* ---- packages ---- */

static int visit_package(const struct export_set *set, struct map *seen,
			 const json_t *item,
			 int (*fn)(void *ctx, const struct export_package *p),
			 void *ctx)
{
	const struct export_package p = {
		.manager = json_string_value(json_object_get(item, "manager")),
		.name = json_string_value(json_object_get(item, "name")),
		.version = json_string_value(json_object_get(item, "version")),
	};
	char *key;

	if (!p.manager || !p.name || !p.version)
		return 0;
	key = pool_printf(set->query->pool, "%s %s %s", p.manager, p.name,
			  p.version);
	if (!key)
		return -ENOMEM;
	if (map_get(seen, key, strlen(key)))
		return 0;
	if (map_set(seen, key, strlen(key), key) < 0)
		return -ENOMEM;
	return fn(ctx, &p);
}

static int visit_document(const struct export_set *set, struct map *seen,
			  const char *text,
			  int (*fn)(void *ctx, const struct export_package *p),
			  void *ctx)
{
	json_t *root = json_loads(text, 0, NULL);
	const json_t *list = json_object_get(root, "packages");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = visit_package(set, seen, json_array_get(list, i), fn, ctx);
	json_decref(root);
	return r;
}

int export_each_package(const struct export_set *set,
			int (*fn)(void *ctx, const struct export_package *p),
			void *ctx)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	CLEANUP(map_release) struct map read = MAP_INIT;
	struct query *q = set->query;
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->n_jobs; i++) {
		const char *text = NULL;

		r = store_situation(q->store, q->pool, set->jobs[i].job->id,
				    SITUATION_PACKAGES, &text, NULL);
		if (r < 0 || !text || map_get(&read, text, strlen(text)))
			continue;
		r = map_set(&read, text, strlen(text), (void *)text);
		if (r == 0)
			r = visit_document(set, &seen, text, fn, ctx);
	}
	return r;
}

void export_add_purl(struct str *out, const struct export_package *p)
{
	static const struct {
		const char *manager, *type;
	} types[] = {
		{ "pip", "pypi" },	  { "conda", "conda" },
		{ "dpkg", "deb/debian" }, { "rpm", "rpm" },
		{ "apk", "apk/alpine" },  { "npm", "npm" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].manager, p->manager) != 0)
			continue;
		str_addf(out, "pkg:%s/", types[i].type);
		export_add_uri(out, p->name);
		str_addc(out, '@');
		export_add_uri(out, p->version);
	}
}

bool export_is_model(const struct export_entity *e)
{
	static const char *const suffixes[] = {
		".pt", ".pth",	 ".safetensors", ".onnx",   ".ckpt",   ".gguf",
		".h5", ".keras", ".pb",		 ".tflite", ".joblib", ".pkl",
	};
	const char *dot = strrchr(e->name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	return false;
}
