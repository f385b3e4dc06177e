/* export_json.h - what the JSON formats of exports share. */
#ifndef ROAR_EXPORT_EXPORT_JSON_H
#define ROAR_EXPORT_EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "hash/digest/digest.h"

struct export_entity;
struct export_set;
struct store_job;

/* A member; with an empty or no text, none. */
void json_member(struct json *j, const char *key, const char *text);

/* A member with a text that is made of parts, as by printf. */
void json_memberf(struct json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "2026-11-15T04:43:47.123456Z" */
void json_time(struct json *j, const char *key, int64_t time_ns);

/* An object of hex digests under these names, indexed by enum digest_algo; NULL leaves an
 * algorithm out. */
void json_digests(struct json *j, const char *key, const struct digests *d,
		  const char *const names[DIGEST_ALGO_END]);

/* When the job ended. */
int64_t export_end_ns(const struct store_job *job);

/* A UUID of version 8 made of the text, and of version 7 made of time and text: the same
 * on every export. */
enum { EXPORT_UUID_SIZE = 37 };
int export_uuid(const char *text, char ret[EXPORT_UUID_SIZE]);
int export_uuid_at(int64_t time_ns, const char *text,
		   char ret[EXPORT_UUID_SIZE]);

/* Appends the path as a part of a URI: bytes that it cannot have are %XX. */
void export_add_uri(struct str *out, const char *path);

/* One package of a job (situation PACKAGES).  The texts live during the call. */
struct export_package {
	const char *manager, *name, *version;
};

/* Calls `fn` for each package that any job of the set used, once each.  Returns what `fn`
 * does not return 0, or -ENOMEM. */
int export_each_package(const struct export_set *set,
			int (*fn)(void *ctx, const struct export_package *p),
			void *ctx);

/* "pkg:pypi/numpy@1.24"; nothing for managers that have no package URL. */
void export_add_purl(struct str *out, const struct export_package *p);

/* Does the name have the suffix of a model file? */
bool export_is_model(const struct export_entity *e);

#endif
