/* s3_objects.c - see s3_objects.h */
#include "s3_objects.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static struct object **objects;
static size_t n_objects, cap_objects;
static bool is_sorted;
static struct map by_key;

void check(int r, const char *what)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "s3_origin: %s: %s\n", what, strerror(-r));
	exit(1);
}

void *need(void *p)
{
	check(p ? 0 : -ENOMEM, "memory");
	return p;
}

static int compare(const void *a, const void *b)
{
	const struct object *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

static void release_parts(struct object *o)
{
	for (size_t i = 0; i < o->n_parts; i++)
		free(o->parts[i].data);
	free(o->parts);
}

static struct object *add(const char *key)
{
	struct object *o = need(calloc(1, sizeof(*o)));

	if (n_objects == cap_objects) {
		cap_objects = cap_objects ? 2 * cap_objects : 1024;
		objects = need(realloc(objects, cap_objects * sizeof(*objects)));
	}
	objects[n_objects++] = o;
	is_sorted = false;
	o->key = need(strdup(key));
	check(map_set(&by_key, o->key, strlen(key), o), "map");
	return o;
}

void objects_keep(const char *key, const struct part *parts, size_t n)
{
	struct object *o = objects_find(key);

	if (!o)
		o = add(key);
	release_parts(o);
	o->parts = need(calloc(n, sizeof(*o->parts)));
	o->n_parts = n;
	o->size = 0;
	for (size_t i = 0; i < n; i++) {
		o->parts[i] = parts[i];
		o->size += parts[i].len;
	}
}

void objects_drop(const char *key)
{
	struct object *o = map_remove(&by_key, key, strlen(key));

	for (size_t i = 0; o && i < n_objects; i++) {
		if (objects[i] != o)
			continue;
		objects[i] = objects[--n_objects];
		is_sorted = false;
		break;
	}
	if (o) {
		release_parts(o);
		free(o->key);
		free(o);
	}
}

struct object *objects_find(const char *key)
{
	return map_get(&by_key, key, strlen(key));
}

const struct object *objects_at(size_t i)
{
	if (!is_sorted)
		qsort(objects, n_objects, sizeof(*objects), compare);
	is_sorted = true;
	return i < n_objects ? objects[i] : NULL;
}
