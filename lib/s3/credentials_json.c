/* credentials_json.c - keys as JSON */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "s3/credentials_internal.h"

/* What jansson allocates holds secrets. */
static void free_wiped(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

static void set_memory(void)
{
	json_set_alloc_funcs(malloc, free_wiped);
}

static json_t *load(const char *text, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *object;

	(void)pthread_once(&once, set_memory);
	object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static void copy_text(const json_t *value, char *ret, size_t size)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) >= size)
		text = "";
	(void)snprintf(ret, size, "%s", text);
}

int credentials_json_text(const char *text, size_t len, const char *name,
			  char *ret, size_t size)
{
	CLEANUP(json_decrefp) json_t *object = load(text, len);

	if (!object)
		return -EBADMSG;
	copy_text(json_object_get(object, name), ret, size);
	return 0;
}

/* A time is a text, or milliseconds since 1970. */
static void copy_time(const json_t *value, char *ret, size_t size)
{
	time_t seconds;
	struct tm t;

	if (!json_is_integer(value)) {
		copy_text(value, ret, size);
		return;
	}
	seconds = (time_t)(json_integer_value(value) / 1000);
	if (!gmtime_r(&seconds, &t) ||
	    !strftime(ret, size, "%Y-%m-%dT%H:%M:%SZ", &t))
		ret[0] = '\0';
}

int credentials_json_keys(struct credentials *c, const char *text, size_t len,
			  const char *member)
{
	CLEANUP(json_decrefp) json_t *object = load(text, len);
	json_t *from = member ? json_object_get(object, member) : object;
	struct s3_keys *k = &c->fresh;

	json_t *version = json_object_get(object, "Version");

	memset(k, 0, sizeof(*k));
	if (!json_is_object(from) ||
	    (version && json_integer_value(version) != 1))
		return -EBADMSG;
	copy_text(json_object_get(from, member ? "accessKeyId" : "AccessKeyId"),
		  k->key_id, sizeof(k->key_id));
	copy_text(json_object_get(from, member ? "secretAccessKey" :
						 "SecretAccessKey"),
		  k->secret, sizeof(k->secret));
	copy_text(json_object_get(from,
				  member ? "sessionToken" : "SessionToken"),
		  k->token, sizeof(k->token));
	if (!k->token[0])
		copy_text(json_object_get(from, "Token"), k->token,
			  sizeof(k->token));
	copy_time(json_object_get(from, member ? "expiration" : "Expiration"),
		  k->expiration, sizeof(k->expiration));
	return k->key_id[0] && k->secret[0] ? 0 : -EBADMSG;
}
