/* error.c - see error.h */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct roar_error *err, int r, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return r;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return r;
}
