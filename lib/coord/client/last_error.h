/* last_error.h - the error message of a thread's last failure, for roar_coord_error(). */
#ifndef COORD_CLIENT_LAST_ERROR_H
#define COORD_CLIENT_LAST_ERROR_H

void last_error_set(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Comma-separated ids of the workers that a failed meeting waited for; NULL: none.
 * Copied. */
void last_error_set_absent(const char *names);

/* Stores the message and evaluates to `r`.  A macro, so that the compiler sees the returned
 * value. */
#define sentence_fail(r, ...)                \
	({                                   \
		int sentence_r_ = (r);       \
		last_error_set(__VA_ARGS__); \
		sentence_r_;                 \
	})

#endif
