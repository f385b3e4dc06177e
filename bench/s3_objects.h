/* s3_objects.h - what s3_origin keeps: objects by key, in memory. */
#ifndef BENCH_S3_OBJECTS_H
#define BENCH_S3_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

struct part {
	char *data;
	size_t len;
};

struct object {
	char *key;
	struct part *parts; /* as they came: joining them would cost a copy */
	size_t n_parts;
	uint64_t size;
};

/* Ends the program when `r` is negative, or `p` NULL. */
void check(int r, const char *what);
void *need(void *p);

/* Keeps these parts, which are the object's then. */
void objects_keep(const char *key, const struct part *parts, size_t n);
void objects_drop(const char *key);
/* NULL: there is none. */
struct object *objects_find(const char *key);
/* In the order of keys; NULL after the last. */
const struct object *objects_at(size_t i);

#endif
