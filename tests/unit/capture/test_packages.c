/* test_packages.c - the owner of each file, in small databases of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"
#include "capture/packages.h"
#include "tree.h"

static const char dpkg_status[] =
	"Package: coreutils\nStatus: install ok installed\n"
	"Architecture: amd64\nVersion: 9.1-1\nDescription: x\n status: y\n\n"
	"Package: libc6\nStatus: install ok installed\nArchitecture: amd64\n"
	"Multi-Arch: same\nVersion: 2.36-9\n\n"
	"Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n";

static void make_dpkg(struct tree *t)
{
	tree_write(t, "var/lib/dpkg/status", dpkg_status);
	tree_write(t, "var/lib/dpkg/info/coreutils.list",
		   "/.\n/bin\n/bin/true\n/usr\n/usr/share\n/usr/share/doc\n"
		   "/usr/share/doc/coreutils\n");
	tree_write(t, "var/lib/dpkg/info/libc6:amd64.list",
		   "/.\n/lib\n/lib/x86_64-linux-gnu\n"
		   "/lib/x86_64-linux-gnu/libc.so.6");
	tree_write(t, "var/lib/dpkg/info/gone.list", "/usr/bin/gone\n");
}

/* The document for files that are separated by blanks; "@" is the directory. */
static const char *document(struct tree *t, const char *cache,
			    const char *files)
{
	struct capture_system system = { .root = t->dir, .cache = cache };
	CLEANUP(packages_freep) struct packages *p = NULL;
	CLEANUP(freep) char *copy = strdup(files);
	struct json json = json_writer(&t->text, false);

	assert_int_equal(packages_new(&system, &p), 0);
	for (char *rest = copy; rest;) {
		const char *word = strsep(&rest, " ");
		char path[512];

		(void)snprintf(path, sizeof(path), "%s%s",
			       *word == '@' ? t->dir : "",
			       word + (*word == '@'));
		packages_add(p, path, strlen(path));
	}
	str_clear(&t->text);
	return packages_write(p, &json) ? str_cstr(&t->text) : "";
}

static void check_has(struct tree *t, const char *part)
{
	if (!strstr(str_cstr(&t->text), part))
		fail_msg("no %s in %s", part, str_cstr(&t->text));
}

static void dpkg_owns_files_of_the_system(void **state)
{
	struct tree *t = *state;

	make_dpkg(t);
	assert_string_equal(
		document(t, NULL,
			 "/usr/bin/true /usr/lib/x86_64-linux-gnu/libc.so.6 "
			 "/lib/x86_64-linux-gnu/libc.so.6 /usr/bin/gone "
			 "/usr/lib/other.so /home/me/data.csv /usr/lib "
			 "/usr/share/doc/coreutils /usr/local/bin/true"),
		"{\"packages\":[{\"manager\":\"dpkg\",\"name\":\"coreutils\","
		"\"version\":\"9.1-1\",\"arch\":\"amd64\",\"n_files\":1},"
		"{\"manager\":\"dpkg\",\"name\":\"libc6\",\"version\":"
		"\"2.36-9\",\"arch\":\"amd64\",\"n_files\":2}]}");
}

static void apk_owns_files_of_the_system(void **state)
{
	struct tree *t = *state;

	tree_write(t, "lib/apk/db/installed",
		   "C:Q1\nP:musl\nV:1.2.4-r2\nA:x86_64\nF:lib\n"
		   "R:ld-musl-x86_64.so.1\nF:usr/bin\nR:ldd\n\n"
		   "P:busybox\nV:1.36\nF:bin\nR:busybox\n");
	document(t, NULL, "/lib/ld-musl-x86_64.so.1 /bin/busybox /usr/bin/ldd");
	check_has(t, "\"apk\",\"name\":\"busybox\",\"version\":\"1.36\","
		     "\"n_files\":1");
	check_has(t, "\"apk\",\"name\":\"musl\",\"version\":\"1.2.4-r2\","
		     "\"arch\":\"x86_64\",\"n_files\":2");
}

/* A program in place of rpm: "known" owns /usr/lib/a.so, and its second call lists it. */
static const char fake_rpm[] =
	"#!/bin/sh\necho called >> \"$RPM_CALLS\"\n"
	"[ \"$RPM_HANGS\" ] && exec sleep 100\n"
	"if [ $1 = -qf ]; then\n"
	"  for f; do case $f in *a.so) echo known;; *d) echo second;; esac; done\n"
	"  echo 'file /usr/lib/b.so is not owned by any package'\n"
	"else for p; do case $p in\n"
	"  known) printf 'known\\t1.0-1.fc40\\tx86_64\\t/usr/lib/a.so\\n';;\n"
	"  second) printf 'second\\t2-1\\tnoarch\\t/usr/bin/d\\n';;\n"
	"  esac; done; fi\n";

static void use_fake_rpm(struct tree *t)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	tree_write(t, "var/lib/rpm/rpmdb.sqlite", "x");
	tree_write(t, "bin/rpm", fake_rpm);
	assert_int_equal(chmod(tree_path(t, "bin/rpm"), 0755), 0);
	str_addf(&path, "%s:/usr/bin:/bin", tree_path(t, "bin"));
	assert_int_equal(setenv("PATH", str_cstr(&path), 1), 0);
	assert_int_equal(setenv("RPM_CALLS", tree_path(t, "calls"), 1), 0);
}

static void rpm_is_asked_for_files_of_the_system(void **state)
{
	struct tree *t = *state;

	use_fake_rpm(t);
	assert_string_equal(
		document(t, NULL,
			 "/usr/lib/a.so /usr/lib/b.so /home/x /usr/bin/d"),
		"{\"packages\":[{\"manager\":\"rpm\",\"name\":\"known\","
		"\"version\":\"1.0-1.fc40\",\"arch\":\"x86_64\","
		"\"n_files\":1},{\"manager\":\"rpm\",\"name\":\"second\","
		"\"version\":\"2-1\",\"arch\":\"noarch\",\"n_files\":1}]}");
}

static void rpm_that_hangs_or_is_missing_is_a_note(void **state)
{
	struct tree *t = *state;

	use_fake_rpm(t);
	assert_int_equal(setenv("RPM_HANGS", "1", 1), 0);
	document(t, NULL, "/usr/lib/a.so");
	check_has(t, "cannot be read: Timer expired");
	assert_int_equal(unsetenv("RPM_HANGS"), 0);
	assert_int_equal(setenv("PATH", t->dir, 1), 0);
	document(t, NULL, "/usr/lib/a.so");
	check_has(t, "\"notes\":[\"the rpm database '");
	assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
}

static void pip_owns_what_its_records_list(void **state)
{
	struct tree *t = *state;

#define SITE "venv/lib/python3.11/site-packages/"
	tree_write(t, SITE "PyYAML-6.0.1.dist-info/METADATA",
		   "Metadata-Version: 2.1\nName: PyYAML\nVersion: 6.0.1\n\nx");
	tree_write(t, SITE "PyYAML-6.0.1.dist-info/RECORD",
		   "yaml/__init__.py,sha256=x,12\r\n\"yaml/a,\"\"b.py\",,\r\n"
		   "../../../bin/yamlize,sha256=y,3\r\n");
	tree_write(t, SITE "six-1.16.0.dist-info/RECORD", "six.py,,\n");
	tree_write(t, SITE "probed-1.0.dist-info/RECORD",
		   "probed.py,,\nprobed.pth,,\n"
		   "probed-1.0.dist-info/entry_points.txt,,\n");
	tree_write(t, SITE "old-2.0-py3.11.egg-info/PKG-INFO",
		   "Name: old\nVersion: 2.0\n");
	tree_write(t, SITE "old-2.0-py3.11.egg-info/top_level.txt",
		   "old_pkg\n");
	document(t, NULL,
		 "@/" SITE "yaml/__init__.py "
		 "@/" SITE "yaml/__pycache__/__init__.cpython-311.pyc "
		 "@/" SITE "yaml/a,\"b.py @/venv/bin/yamlize @/" SITE "six.py "
		 "@/" SITE "old_pkg/sub/x.py @/" SITE "stray.py "
		 "@/" SITE "probed.pth "
		 "@/" SITE "probed-1.0.dist-info/entry_points.txt");
	check_has(t, "\"name\":\"PyYAML\",\"version\":\"6.0.1\"");
	check_has(t, "\"n_files\":3");
	check_has(t, "\"name\":\"six\",\"version\":\"1.16.0\"");
	check_has(t, "\"name\":\"old\",\"version\":\"2.0\"");
	check_has(t, "/venv/lib/python3.11/site-packages\"");
	assert_null(strstr(str_cstr(&t->text), "probed"));
}

static void an_editable_package_counts_its_source(void **state)
{
	struct tree *t = *state;
	char url[256];

	(void)snprintf(url, sizeof(url),
		       "{\"url\":\"file://%s/src/mine\",\"dir_info\":"
		       "{\"editable\":true}}",
		       t->dir);
	tree_write(t, SITE "mine-0.1.dist-info/direct_url.json", url);
	tree_write(t, SITE "mine-0.1.dist-info/RECORD",
		   "__editable__.mine-0.1.pth,,\n");
	document(t, NULL,
		 "@/src/mine/mine/__init__.py @/src/mine/mine/x.py "
		 "@/src/minefield.py @/" SITE "__editable__.mine-0.1.pth");
	check_has(t, "\"editable\":true,\"n_files\":2");
	check_has(t, "/src/mine\",\"editable\"");
}

static void conda_owns_its_prefix(void **state)
{
	struct tree *t = *state;

	tree_write(t, "conda/conda-meta/numpy-1.26.json",
		   "{\n \"build\": \"py\", \"depends\": [\"a\", {\"x\": \"]\"}],"
		   "\n \"files\": [\n  \"lib/libx.so\",\n  "
		   "\"lib/python3.11/site-packages/numpy/__init__.py\"\n ],\n"
		   " \"link\": {\"source\": \"/x\", \"type\": 1},\n"
		   " \"name\": \"numpy\", \"subdir\": \"linux-64\", "
		   "\"paths_data\": {\"paths\": [{\"_path\": \"a\"}]},\n"
		   " \"version\": \"1.26.4\"\n}\n");
	tree_write(t, "conda/conda-meta/broken.json", "{\"name\": \"bro");
	tree_write(t,
		   "conda/lib/python3.11/site-packages/"
		   "einops-0.7.dist-info/RECORD",
		   "einops/__init__.py,,\n");
	document(t, NULL,
		 "@/conda/lib/libx.so "
		 "@/conda/lib/python3.11/site-packages/numpy/__init__.py "
		 "@/conda/lib/python3.11/site-packages/einops/__init__.py "
		 "@/conda/lib/unknown.so");
	check_has(t, "\"conda\",\"name\":\"numpy\",\"version\":\"1.26.4\","
		     "\"arch\":\"linux-64\"");
	check_has(t, "\"n_files\":2");
	check_has(t, "\"pip\",\"name\":\"einops\",\"version\":\"0.7\"");
}

static void npm_packages_describe_themselves(void **state)
{
	struct tree *t = *state;

	tree_write(t, "app/node_modules/left-pad/package.json",
		   "{\"name\": \"left-pad\", \"version\": \"1.3.0\"}");
	tree_write(t, "app/node_modules/@s/p/package.json",
		   "{\"name\": \"@s/p\", \"version\": \"2.0.0\"}");
	tree_write(t, "app/node_modules/bad/package.json", "{");
	document(t, NULL,
		 "@/app/node_modules/left-pad/index.js "
		 "@/app/node_modules/@s/p/lib/x.js "
		 "@/app/node_modules/bad/index.js @/app/index.js");
	check_has(t, "\"npm\",\"name\":\"@s/p\",\"version\":\"2.0.0\"");
	check_has(t, "\"npm\",\"name\":\"left-pad\",\"version\":\"1.3.0\"");
	assert_null(strstr(t->text.data, "bad"));
}

static void a_missing_database_is_not_mentioned(void **state)
{
	assert_string_equal(document(*state, NULL, "/usr/bin/true @/x/y.py"),
			    "");
}

/* Locked, or without the right to read it. */
static void an_unreadable_database_is_a_note(void **state)
{
	struct tree *t = *state;

	tree_write(t, "var/lib/dpkg/info/x.list", "/usr/bin/x\n");
	tree_write(t, "var/lib/dpkg/status/not-a-file", "");
	document(t, NULL, "/usr/bin/x");
	check_has(t, "\"packages\":[],\"notes\":[\"the dpkg database '");
	check_has(t, "cannot be read: Is a directory\"]");
}

static void damaged_databases_own_what_is_left(void **state)
{
	struct tree *t = *state;
	static const char junk[] = "\0\xff\xfe\n\n\nPackage:\n\n:::\n";

	tree_write_bytes(t, "var/lib/dpkg/status", junk, sizeof(junk));
	tree_write_bytes(t, "var/lib/dpkg/info/junk.list", junk, sizeof(junk));
	tree_write_bytes(t, SITE "junk.dist-info/RECORD", junk, sizeof(junk));
	tree_write_bytes(t, SITE "junk.egg-link", junk, sizeof(junk));
	tree_write_bytes(t, SITE "junk.egg-info", junk, sizeof(junk));
	tree_write(t, SITE "six-1.16.0.dist-info/RECORD", "six.py,,\n");
	document(t, NULL, "/usr/bin/true @/" SITE "six.py @/" SITE "junk.py");
	check_has(t, "\"name\":\"six\",\"version\":\"1.16.0\"");
}

/* A second reading must not need the database any more, and a changed one must be read
 * again. */
static void an_index_is_kept_until_its_database_changes(void **state)
{
	struct tree *t = *state;
	const char *cache = strdup(tree_path(t, "cache"));
	struct owner_builder *b;
	struct owner_index *index;
	struct owner_key key = { .stamps = { { .ino = 1, .size = 2 } } };
	const struct owner_package p = { "a", "1", "", "", false };
	char file[512];

	assert_int_equal(mkdir(cache, 0755), 0);
	(void)snprintf(file, sizeof(file), "%s/index", cache);
	assert_int_equal(owner_builder_new(&b), 0);
	owner_builder_path(b, "/usr/lib/a.so", 13,
			   owner_builder_package(b, &p));
	owner_builder_dir(b, "/opt/a", 6, 0);
	assert_int_equal(owner_builder_end(b, &key, &index), 0);
	owner_builder_free(b);
	owner_index_save(index, file);
	owner_index_free(index);

	assert_int_equal(owner_index_open(file, &key, &index), 0);
	assert_int_equal(owner_index_find(index, "/lib/a.so", 9), 0);
	assert_int_equal(owner_index_find(index, "/lib/b.so", 9), -1);
	assert_int_equal(owner_index_find(index, "/opt/a/b/c", 10), 0);
	assert_string_equal(owner_index_package(index, 0).name, "a");
	owner_index_free(index);
	key.stamps[0].size++;
	assert_int_equal(owner_index_open(file, &key, &index), -ESTALE);
	assert_int_equal(truncate(file, 150), 0);
	assert_int_equal(owner_index_open(file, &key, &index), -EBADMSG);
	assert_int_equal(truncate(file, 0), 0);
	assert_int_equal(owner_index_open(file, &key, &index), -EBADMSG);
	/* It does not wait for the writer of a FIFO. */
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(owner_index_open(file, &key, &index), -EBADMSG);
	free((char *)cache);
}

static void a_damaged_index_is_read_without_a_crash(void **state)
{
	struct tree *t = *state;
	struct owner_key key = { .stamps = { { .ino = 1, .size = 2 } } };
	const struct owner_package p = { "a", "1", "", "", false };
	struct owner_builder *b;
	struct owner_index *index;
	const char *file = strdup(tree_path(t, "index"));
	struct stat st;

	assert_int_equal(owner_builder_new(&b), 0);
	owner_builder_path(b, "/lib/a.so", 9, owner_builder_package(b, &p));
	assert_int_equal(owner_builder_end(b, &key, &index), 0);
	owner_builder_free(b);
	owner_index_save(index, file);
	owner_index_free(index);
	assert_int_equal(stat(file, &st), 0);
	for (off_t at = 88; at < st.st_size; at++) {
		FILE *f = fopen(file, "r+");
		int old, found;

		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		old = fgetc(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(old ^ 0x55, f);
		(void)fclose(f);
		if (owner_index_open(file, &key, &index) == 0) {
			found = owner_index_find(index, "/lib/a.so", 9);
			if (found >= 0)
				(void)strlen(
					owner_index_package(index, found).name);
			owner_index_free(index);
		}
		f = fopen(file, "r+");
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		(void)fputc(old, f);
		(void)fclose(f);
	}
	free((char *)file);
}

static void a_huge_database_stays_bounded(void **state)
{
	struct tree *t = *state;
	CLEANUP(str_release) struct str list = STR_INIT;

	make_dpkg(t);
	for (int i = 0; i < 300000; i++)
		str_addf(&list, "/usr/lib/huge/%d/file.py\n", i);
	tree_write_bytes(t, "var/lib/dpkg/info/coreutils.list", list.data,
			 list.len);
	document(t, NULL, "/usr/lib/huge/299999/file.py");
	check_has(t, "\"name\":\"coreutils\"");
}

static void without_memory_packages_are_missing(void **state)
{
	struct tree *t = *state;

	make_dpkg(t);
	for (int n = 0; n < 40; n++) {
		struct capture_system system = { .root = t->dir };
		struct packages *p;
		struct json json = json_writer(&t->text, false);

		str_clear(&t->text);
		assert_int_equal(packages_new(&system, &p), 0);
		alloc_fail_after(n);
		packages_add(p, "/usr/bin/true", 13);
		(void)packages_write(p, &json);
		alloc_fail_never();
		packages_free(p);
	}
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(dpkg_owns_files_of_the_system),
		TEST(apk_owns_files_of_the_system),
		TEST(rpm_is_asked_for_files_of_the_system),
		TEST(rpm_that_hangs_or_is_missing_is_a_note),
		TEST(pip_owns_what_its_records_list),
		TEST(an_editable_package_counts_its_source),
		TEST(conda_owns_its_prefix),
		TEST(npm_packages_describe_themselves),
		TEST(a_missing_database_is_not_mentioned),
		TEST(an_unreadable_database_is_a_note),
		TEST(damaged_databases_own_what_is_left),
		TEST(an_index_is_kept_until_its_database_changes),
		TEST(a_damaged_index_is_read_without_a_crash),
		TEST(a_huge_database_stays_bounded),
		TEST(without_memory_packages_are_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
