/* last_error.h - the sentence of a thread's last failure, for roar_coord_error(). */
#ifndef COORD_CLIENT_LAST_ERROR_H
#define COORD_CLIENT_LAST_ERROR_H

void last_error_set(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whom a failed meeting waited for, by commas; NULL for nobody.  Copied. */
void last_error_set_absent(const char *names);

/* Keeps the sentence and is `r`: a macro, so that the compiler sees what is returned. */
#define sentence_fail(r, ...)                \
	({                                   \
		int sentence_r_ = (r);       \
		last_error_set(__VA_ARGS__); \
		sentence_r_;                 \
	})

#endif
