/* test_hash.c - the C API of hashing, as a program outside sees it. */
#include <roar/hash.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ALL = 63 };

static void assert_hex(const uint8_t *digest, size_t len, const char *hex)
{
	char text[129];

	for (size_t i = 0; i < len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(text, hex);
}

static void assert_abc(const struct roar_digests *d)
{
	assert_int_equal(d->have, ALL);
	assert_hex(d->blake3, 32,
		   "6437b3ac38465133ffb63b75273a8db5"
		   "48c558465d79db03fd359c6cd5bd9d85");
	assert_hex(d->sha256, 32,
		   "ba7816bf8f01cfea414140de5dae2223"
		   "b00361a396177a9cb410ff61f20015ad");
	assert_hex(d->md5, 16, "900150983cd24fb0d6963f7d28e17f72");
	assert_hex(d->git_blob, 20, "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");
}

static char *write_file(const char *content, size_t len)
{
	char name[] = "/tmp/roar-api-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), len);
	assert_int_equal(close(fd), 0);
	return strdup(name);
}

static void bytes_and_files_have_the_same_digests(void **state)
{
	char *path = write_file("abc", 3);
	struct roar_digests d;

	(void)state;
	assert_int_equal(roar_hash("abc", 3, ALL, &d), 0);
	assert_abc(&d);
	memset(&d, 0, sizeof(d));
	assert_int_equal(roar_hash_file(path, ALL, &d), 0);
	assert_abc(&d);
	assert_int_equal(unlink(path), 0);
	free(path);
}

static void large_bytes_have_the_digests_of_a_large_file(void **state)
{
	enum { LEN = 5000000 };
	char *data = calloc(1, LEN);
	struct roar_digests d, of_file;
	char *path;

	(void)state;
	assert_non_null(data);
	data[LEN / 2] = 'x';
	path = write_file(data, LEN);
	assert_int_equal(roar_hash(data, LEN, ALL, &d), 0);
	assert_int_equal(roar_hash_file(path, ALL, &of_file), 0);
	assert_memory_equal(&d, &of_file, sizeof(d));
	assert_int_equal(roar_hash(data, LEN, ROAR_BLAKE3, &d), 0);
	assert_memory_equal(d.blake3, of_file.blake3, sizeof(d.blake3));
	assert_int_equal(unlink(path), 0);
	free(path);
	free(data);
}

static void only_what_was_asked_for_is_there(void **state)
{
	struct roar_digests d;

	(void)state;
	assert_int_equal(roar_hash("abc", 3, ROAR_MD5, &d), 0);
	assert_int_equal(d.have, ROAR_MD5);
	assert_int_equal(roar_hash(NULL, 0, ROAR_BLAKE3, &d), 0);
	assert_int_equal(d.have, ROAR_BLAKE3);
	assert_int_equal(roar_hash("abc", 3, 0, &d), -EINVAL);
	assert_int_equal(roar_hash("abc", 3, 64, &d), -EINVAL);
	assert_int_equal(roar_hash_files(NULL, 0, 64, 0), -EINVAL);
}

static void of_many_files_each_has_its_own_answer(void **state)
{
	enum { N = 5000 };
	struct roar_file *files = calloc(N, sizeof(*files));
	char *good = write_file("abc", 3);

	(void)state;
	assert_non_null(files);
	for (size_t i = 0; i < N; i++)
		files[i].path = i % 3 == 0 ? good :
				i % 3 == 1 ? "/nowhere/at/all" :
					     "/tmp";
	files[4711].path = NULL;
	assert_int_equal(roar_hash_files(files, N, ALL, 3), 0);
	for (size_t i = 0; i < N; i++) {
		int wanted = i == 4711	? -EINVAL :
			     i % 3 == 0 ? 0 :
			     i % 3 == 1 ? -ENOENT :
					  -EISDIR;

		assert_int_equal(files[i].error, wanted);
		if (!wanted) {
			assert_int_equal(files[i].size_bytes, 3);
			assert_abc(&files[i].digests);
		}
	}
	assert_int_equal(unlink(good), 0);
	free(good);
	free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_files_have_the_same_digests),
		cmocka_unit_test(large_bytes_have_the_digests_of_a_large_file),
		cmocka_unit_test(only_what_was_asked_for_is_there),
		cmocka_unit_test(of_many_files_each_has_its_own_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
