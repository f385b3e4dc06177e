/* error.h - an error message of one complete sentence.
 *
 * Most functions return a negative errno and nothing else.  Where a number is not enough
 * (parsing, SQL, set-up of a tracer) the last parameter is a `struct roar_error *`, which
 * may be NULL and receives one sentence that names the object, the cause and, where there
 * is one, the remedy.  The sentence has no capital, no full stop and no newline: the
 * program adds its own frame. */
#ifndef ROAR_BASE_ERROR_H
#define ROAR_BASE_ERROR_H

struct roar_error {
	char text[1024]; /* the sentence, NUL-terminated; empty when unset */
};

/* Stores the sentence (if `err` is given) and returns `r`, so that a failing
 * path is one line: return error_set(err, -EINVAL, "...", ...); */
int error_set(struct roar_error *err, int r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
