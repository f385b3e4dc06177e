/* failure.c - see failure.h */
#include "arena/protocol/failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "arena/arena_api.h"

static _Thread_local char sentence[512];

void failure_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
}

API const char *roar_arena_error(void)
{
	return sentence;
}
