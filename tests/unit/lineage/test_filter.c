/* test_filter.c - which filter takes which path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lineage/filter.h"

/* The project has one environment. */
static bool is_environment(void *ctx, const char *path, size_t len)
{
	static const char env[] = "/home/u/proj/env";

	(void)ctx;
	return len == sizeof(env) - 1 && memcmp(path, env, len) == 0;
}

static const struct filter_options plain = {
	.project = "/home/u/proj",
	.home = "/home/u",
	.is_environment = is_environment,
};

static void expect(const struct filter_options *options, const char *path,
		   bool written, enum filter_id expected)
{
	enum filter_id id = filter_match(options, path, written);

	if (id != expected)
		fail_msg("%s (%s): %s, not %s", path,
			 written ? "written" : "read", filter_name(id),
			 filter_name(expected));
}

static void both(const char *path, enum filter_id expected)
{
	expect(&plain, path, false, expected);
	expect(&plain, path, true, expected);
}

static void the_users_files_are_kept(void **state)
{
	(void)state;
	both("/home/u/proj/train.py", FILTER_NONE);
	both("/home/u/proj/data/a.csv", FILTER_NONE);
	both("/home/u/other/x", FILTER_NONE);
	both("/mnt/data/x", FILTER_NONE);
	both("/data/x", FILTER_NONE);
	both("/srv/x", FILTER_NONE);
	both("/opt/ml/input/data/x", FILTER_NONE);
	both("/run/media/u/disk/x", FILTER_NONE);
	both("/home/u/proj/lib/model.py", FILTER_NONE);
	both("/home/u/proj/bin/run.sh", FILTER_NONE);
	both("/home/u/proj/.gitignore", FILTER_NONE);
	both("/opt/data/train.csv", FILTER_NONE);
	both("/opt/lib.csv", FILTER_NONE);
	both("/var/lib/jenkins/data/x", FILTER_NONE);
	both("/var/log/nginx/access.log", FILTER_NONE);
	both("/usrdata/x", FILTER_NONE);
}

static void what_was_downloaded_as_data_is_kept(void **state)
{
	(void)state;
	both("/home/u/.cache/huggingface/hub/models--x/blobs/ab", FILTER_NONE);
	both("/home/u/.cache/huggingface/datasets/x/y.arrow", FILTER_NONE);
	both("/home/u/.cache/torch/hub/checkpoints/r.pth", FILTER_NONE);
	both("/home/u/.keras/datasets/mnist.npz", FILTER_NONE);
	both("/home/u/nltk_data/x", FILTER_NONE);
}

static void roars_own_files_are_taken(void **state)
{
	(void)state;
	both("/home/u/proj/.roar/roar.db", FILTER_ROAR);
	both("/home/u/other/.roar", FILTER_ROAR);
	both("/home/u/proj/x.roar", FILTER_NONE);
}

static void gits_own_files_are_taken(void **state)
{
	(void)state;
	both("/home/u/proj/.git/HEAD", FILTER_GIT);
	both("/home/u/.gitconfig", FILTER_GIT);
	both("/home/u/.config/git/ignore", FILTER_GIT);
	both("/etc/gitconfig", FILTER_GIT);
}

static void credentials_are_taken(void **state)
{
	(void)state;
	both("/home/u/.netrc", FILTER_CREDENTIALS);
	both("/home/u/.ssh/id_rsa", FILTER_CREDENTIALS);
	both("/home/u/.aws/credentials", FILTER_CREDENTIALS);
	both("/home/u/.cache/huggingface/token", FILTER_CREDENTIALS);
	both("/home/u/.docker/config.json", FILTER_CREDENTIALS);
	both("/home/u/.config/gcloud/x", FILTER_CREDENTIALS);
	both("/etc/shadow", FILTER_CREDENTIALS);
}

static void devices_are_taken_but_shared_memory_is_temporary(void **state)
{
	(void)state;
	both("/dev/null", FILTER_DEVICES);
	both("/proc/self/maps", FILTER_DEVICES);
	both("/sys/devices/x", FILTER_DEVICES);
	expect(&plain, "/dev/shm/x", true, FILTER_TMP);
	expect(&plain, "/dev/shm/x", false, FILTER_NONE);
}

static void the_operating_system_is_taken(void **state)
{
	(void)state;
	both("/usr/lib/x.so", FILTER_SYSTEM);
	both("/etc/ld.so.cache", FILTER_SYSTEM);
	both("/lib64/ld-linux-x86-64.so.2", FILTER_SYSTEM);
	both("/opt/tool/bin/x", FILTER_SYSTEM);
	both("/opt/vendor/tool/1.2/lib64/x.so", FILTER_SYSTEM);
	both("/opt/etc/x", FILTER_SYSTEM);
	both("/nix/store/abc/x", FILTER_SYSTEM);
	both("/var/lib/dpkg/status", FILTER_SYSTEM);
	both("/run/user/1000/bus", FILTER_SYSTEM);
	/* The system comes before packages. */
	both("/usr/lib/python3/dist-packages/x.py", FILTER_SYSTEM);
}

static void installed_packages_are_taken(void **state)
{
	static const char *const paths[] = {
		"/home/u/proj/env/bin/activate",
		"/home/u/proj/env/data/anything",
		"/home/u/proj/sub/site-packages/numpy/core.py",
		"/home/u/other/.venv/bin/activate",
		"/home/u/other/lib/python3.11/os.py",
		"/home/u/proj/env/lib64/python3.11/os.py",
		"/home/u/proj/env/bin/python3",
		"/home/u/proj/env/pyvenv.cfg",
		"/home/u/proj/node_modules/x/index.js",
		"/home/u/proj/env/lib/__pycache__/a.cpython-311.pyc",
		"/home/u/.local/lib/x/__pycache__/a.cpython-311.pyc",
		"/home/u/proj/renv/library/x",
		"/home/u/proj/proj.egg-info/PKG-INFO",
		"/home/u/.pyenv/versions/3.11.1/lib/python3.11/os.py",
		"/home/u/.local/lib/python3.11/site-packages/x.py",
		"/home/u/miniconda3/envs/x/lib/libmkl.so",
		"/scratch/conda/pkgs/x/y",
		"/scratch/env/conda-meta/history",
		"/home/u/R/x86_64-pc-linux-gnu-library/4.2/x/R/x.rdb",
		"/home/u/.julia/packages/x",
		"/home/u/.cargo/registry/src/x",
		"/home/u/go/pkg/mod/x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		both(paths[i], FILTER_PACKAGES);
}

static void names_prove_nothing_inside_the_project(void **state)
{
	static const char *const paths[] = {
		"/home/u/proj/bin/python_train.py",
		"/home/u/proj/bin/python3",
		"/home/u/proj/R/library/data.csv",
		"/home/u/proj/runs/anaconda1/w",
		"/home/u/proj/lib/python3.d/out",
		"/home/u/proj/.venv/x",
		"/home/u/proj/venv/lib/x",
		"/home/u/proj/go/pkg/mod/x",
		"/home/u/proj/env",
		"/home/u/proj/env2/lib/x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		both(paths[i], FILTER_NONE);
}

static void a_file_with_settings_is_no_directory(void **state)
{
	(void)state;
	both("/home/u/proj/.env", FILTER_CREDENTIALS);
	both("/home/u/proj/exp/.env/cfg", FILTER_NONE);
}

static void compiled_modules_are_taken_when_the_run_wrote_them(void **state)
{
	static const char *const paths[] = {
		"/home/u/proj/__pycache__/a.cpython-311.pyc",
		"/home/u/proj/old.pyc",
		"/data/shared/__pycache__/a.cpython-311.pyc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		expect(&plain, paths[i], true, FILTER_PACKAGES);
		expect(&plain, paths[i], false, FILTER_NONE);
	}
}

static void caches_of_torch_are_taken(void **state)
{
	(void)state;
	both("/tmp/torchinductor_u/ab/x.py", FILTER_TORCH_CACHE);
	both("/tmp/torch_x/y", FILTER_TORCH_CACHE);
	both("/var/tmp/triton_k/y", FILTER_TORCH_CACHE);
	both("/home/u/.triton/cache/x", FILTER_TORCH_CACHE);
	both("/home/u/.cache/torch_extensions/x", FILTER_TORCH_CACHE);
	both("/home/u/torch_models/x", FILTER_NONE);
}

static void caches_of_libraries_are_taken(void **state)
{
	(void)state;
	both("/home/u/.cache/matplotlib/fontlist.json", FILTER_LIBRARY_CACHES);
	both("/home/u/.cache/pip/x", FILTER_LIBRARY_CACHES);
	both("/home/u/.cache/roar/tracers", FILTER_LIBRARY_CACHES);
	both("/home/u/.cache/mesa_shader_cache_db/x", FILTER_LIBRARY_CACHES);
	both("/home/u/.nv/ComputeCache/x", FILTER_LIBRARY_CACHES);
	both("/root/.cupy/kernel_cache/x", FILTER_LIBRARY_CACHES);
	both("/home/u/proj/.pytest_cache/x", FILTER_LIBRARY_CACHES);
	both("/home/u/.cache/huggingface/hub/.locks/x", FILTER_LIBRARY_CACHES);
}

static void temporary_files_are_taken_when_the_run_wrote_them(void **state)
{
	struct filter_options o = plain;

	(void)state;
	expect(&plain, "/tmp/x", true, FILTER_TMP);
	expect(&plain, "/tmp/x", false, FILTER_NONE);
	expect(&plain, "/var/tmp/x", true, FILTER_TMP);
	o.tmpdir = "/scratch/tmp";
	expect(&o, "/scratch/tmp/x", true, FILTER_TMP);
	expect(&o, "/scratch/tmp/torch_x", false, FILTER_TORCH_CACHE);
	expect(&o, "/scratch/tmpx", true, FILTER_NONE);
	o.tmpdir = "/";
	expect(&o, "/data/x", true, FILTER_NONE);
	o.tmpdir = "relative";
	expect(&o, "/data/x", true, FILTER_NONE);
}

static void the_project_is_never_system_or_temporary(void **state)
{
	static const char *const roots[] = {
		"/tmp/p",	"/opt/p", "/usr/src/p", "/home/u/miniconda3/p",
		"/tmp/torch_p", "/"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct filter_options o = { .project = roots[i] };
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/a.csv", roots[i]);
		expect(&o, path, true, FILTER_NONE);
		expect(&o, path, false, FILTER_NONE);
		(void)snprintf(path, sizeof(path), "%s/.git/HEAD", roots[i]);
		expect(&o, path, false, FILTER_GIT);
	}
}

static void a_filter_that_is_off_leaves_the_file_to_the_next(void **state)
{
	struct filter_options o = plain;

	(void)state;
	o.off[FILTER_SYSTEM] = true;
	expect(&o, "/usr/lib/x.so", false, FILTER_NONE);
	expect(&o, "/usr/lib/python3/dist-packages/x.py", false,
	       FILTER_PACKAGES);
	o.off[FILTER_PACKAGES] = true;
	expect(&o, "/usr/lib/python3/dist-packages/x.py", false, FILTER_NONE);
	o.off[FILTER_TORCH_CACHE] = true;
	expect(&o, "/tmp/torch_x/y", true, FILTER_TMP);
	o.off[FILTER_TMP] = true;
	expect(&o, "/tmp/torch_x/y", true, FILTER_NONE);
}

static void what_is_always_on_cannot_be_switched_off(void **state)
{
	struct filter_options o = plain;

	(void)state;
	memset(o.off, 1, sizeof(o.off));
	expect(&o, "/home/u/proj/.roar/x", true, FILTER_ROAR);
	expect(&o, "/home/u/proj/.git/x", true, FILTER_GIT);
	expect(&o, "/home/u/.netrc", false, FILTER_CREDENTIALS);
	expect(&o, "/dev/null", true, FILTER_DEVICES);
}

static bool pattern(const char *text, const char *path)
{
	char *patterns[] = { (char *)text };
	struct filter_options o = plain;

	o.patterns = patterns;
	o.n_patterns = 1;
	return filter_match(&o, path, true) == FILTER_PATTERNS;
}

static void absolute_patterns_are_prefixes_of_whole_components(void **state)
{
	(void)state;
	assert_true(pattern("/data/raw", "/data/raw/a"));
	assert_true(pattern("/data/raw", "/data/raw"));
	assert_true(pattern("/data/raw/", "/data/raw/a/b"));
	assert_false(pattern("/data/raw", "/data/rawest"));
	assert_false(pattern("/data/raw", "/data"));
	assert_true(pattern("/data/*/tmp", "/data/x/tmp/y"));
	assert_false(pattern("/data/*/tmp", "/data/x/y/tmp"));
	assert_true(pattern("~/scratch", "/home/u/scratch/x"));
	assert_false(pattern("~/scratch", "/home/v/scratch/x"));
	assert_true(pattern("/", "/x"));
}

static void relative_patterns_match_at_any_depth(void **state)
{
	(void)state;
	assert_true(pattern("*.log", "/home/u/proj/a/b.log"));
	assert_true(pattern("*.log", "/home/u/proj/b.log/x"));
	assert_false(pattern("*.log", "/home/u/proj/b.logs"));
	assert_true(pattern("logs", "/home/u/proj/a/logs/x"));
	assert_false(pattern("logs", "/home/u/proj/mylogs/x"));
	assert_true(pattern("wandb/run-?", "/home/u/proj/wandb/run-1/x"));
	assert_false(pattern("wandb/run-?", "/home/u/proj/wandb/run-12/x"));
	assert_true(pattern("./out/", "/home/u/proj/out/x"));
	assert_true(pattern("cache", "/mnt/cache/x"));
	assert_false(pattern("", "/home/u/proj/x"));
	assert_false(pattern("./", "/home/u/proj/x"));
}

static void what_lies_above_the_project_does_not_match(void **state)
{
	(void)state;
	assert_false(pattern("home", "/home/u/proj/x"));
	assert_false(pattern("proj", "/home/u/proj/x"));
	assert_true(pattern("proj", "/home/u/proj/proj/x"));
}

static void many_stars_take_no_time(void **state)
{
	char path[4096] = "/home/u/proj/";

	(void)state;
	memset(path + 13, 'a', 4000);
	assert_false(pattern("*a*a*a*a*a*a*a*a*a*a*a*b", path));
}

static void names_and_keys_are_those_of_the_configuration(void **state)
{
	(void)state;
	assert_string_equal(filter_name(FILTER_SYSTEM), "system");
	assert_string_equal(filter_key(FILTER_SYSTEM),
			    "filters.ignore_system_reads");
	assert_string_equal(filter_key(FILTER_TMP), "filters.ignore_tmp_files");
	assert_null(filter_key(FILTER_GIT));
	assert_string_equal(filter_name(FILTER_END), "unknown");
	assert_null(filter_key(FILTER_END));
	for (int i = 0; i < FILTER_END; i++)
		assert_non_null(filter_name((enum filter_id)i));
}

static void a_path_costs_about_a_microsecond(void **state)
{
	struct timespec from;
	struct timespec to;
	double us;

	(void)state;
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 200000; i++)
		assert_int_equal(
			filter_match(&plain,
				     "/home/u/proj/data/train/shard-1/i.jpg",
				     false),
			FILTER_NONE);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	us = (double)(to.tv_sec - from.tv_sec) * 1e6 +
	     (double)(to.tv_nsec - from.tv_nsec) / 1e3;
	print_message("%.2f us a path\n", us / 200000);
	/* Generous: sanitizers and busy machines. */
	assert_true(us / 200000 < 50);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_users_files_are_kept),
		T(what_was_downloaded_as_data_is_kept),
		T(roars_own_files_are_taken),
		T(gits_own_files_are_taken),
		T(credentials_are_taken),
		T(devices_are_taken_but_shared_memory_is_temporary),
		T(the_operating_system_is_taken),
		T(installed_packages_are_taken),
		T(names_prove_nothing_inside_the_project),
		T(a_file_with_settings_is_no_directory),
		T(compiled_modules_are_taken_when_the_run_wrote_them),
		T(caches_of_torch_are_taken),
		T(caches_of_libraries_are_taken),
		T(temporary_files_are_taken_when_the_run_wrote_them),
		T(the_project_is_never_system_or_temporary),
		T(a_filter_that_is_off_leaves_the_file_to_the_next),
		T(what_is_always_on_cannot_be_switched_off),
		T(absolute_patterns_are_prefixes_of_whole_components),
		T(relative_patterns_match_at_any_depth),
		T(what_lies_above_the_project_does_not_match),
		T(many_stars_take_no_time),
		T(names_and_keys_are_those_of_the_configuration),
		T(a_path_costs_about_a_microsecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
