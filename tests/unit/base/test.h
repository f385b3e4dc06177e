/* test.h - what cmocka needs before its own header, and strings compared. */
#ifndef ROAR_TESTS_BASE_TEST_H
#define ROAR_TESTS_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

/* The content of a str, byte for byte, and its NUL. */
#define assert_str(s, expected)                                               \
	do {                                                                  \
		assert_int_equal(str_error(s), 0);                            \
		assert_int_equal((s)->len, sizeof(expected) - 1);             \
		assert_memory_equal(str_cstr(s), expected, sizeof(expected)); \
	} while (0)

#endif
