/* test_sudo.c - who typed sudo, by what the environment says. */
#include "base/sudo.h"

#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static bool find(const char *uid, const char *gid, struct sudo_user *ret)
{
	assert_int_equal(
		uid ? setenv("SUDO_UID", uid, 1) : unsetenv("SUDO_UID"), 0);
	assert_int_equal(
		gid ? setenv("SUDO_GID", gid, 1) : unsetenv("SUDO_GID"), 0);
	return sudo_find(ret);
}

/* For an ordinary user the same words mean nothing. */
static void the_user_is_found_by_root_alone(void **state)
{
	bool root = geteuid() == 0;
	struct sudo_user u;

	(void)state;
	assert_int_equal(find("1000", "100", &u), root);
	if (root) {
		assert_int_equal(u.uid, 1000);
		assert_int_equal(u.gid, 100);
	}
	assert_int_equal(find("1000", NULL, &u), root);
	if (root)
		assert_true(u.gid == (gid_t)-1);
}

static void nonsense_is_nobody(void **state)
{
	static const char *const words[] = {
		NULL, "",   "0",	  "1000x", " 1000",
		"-1", "+5", "4294967295", "root",  "99999999999999999999"
	};
	struct sudo_user u;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_false(find(words[i], "100", &u));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_user_is_found_by_root_alone),
		cmocka_unit_test(nonsense_is_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
