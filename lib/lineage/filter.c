/* filter.c - see filter.h.
 *
 * Tables decide.  `places` are absolute directories.  `hidden` and `visible` are runs
 * of path components at any depth: an installed package looks the same in every home,
 * container and environment.  A path is walked once, component by component.  Of all
 * filters that match, the first in the order of the enum takes the file, so the order
 * of the tables does not matter.
 *
 * Inside the project a name is the user's choice: bin/python_train.py and R/library/
 * may hold anything.  There only unmistakable names count (site-packages,
 * node_modules), and evidence: the owner of the options decides which directories are
 * environments.
 *
 * Data stays: downloaded models and data sets (huggingface/hub, huggingface/datasets,
 * torch/hub, keras datasets and models, nltk_data) are inputs although they are below
 * ~/.cache. */
#include "lineage/filter.h"

#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/path.h"

static const struct {
	const char *name;
	const char *key;
	const char *about;
} filters[FILTER_END] = {
	[FILTER_NONE] = { "none", NULL, "it is kept" },
	[FILTER_ROAR] = { "roar", NULL, "roar's own directory .roar" },
	[FILTER_GIT] = { "git", NULL, "data and configuration of git" },
	[FILTER_CREDENTIALS] = { "credentials", NULL,
				 "files that hold credentials" },
	[FILTER_DEVICES] = { "devices", NULL,
			     "devices, and files of the kernel without content" },
	[FILTER_SYSTEM] = { "system", "filters.ignore_system_reads",
			    "files of the operating system" },
	[FILTER_PACKAGES] = { "packages", "filters.ignore_package_reads",
			      "installed packages, and compiled Python" },
	[FILTER_TORCH_CACHE] = { "torch_cache", "filters.ignore_torch_cache",
				 "caches of torch and triton" },
	[FILTER_LIBRARY_CACHES] = { "library_caches",
				    "filters.ignore_library_caches",
				    "caches of libraries in the home directory" },
	[FILTER_TMP] = { "tmp", "filters.ignore_tmp_files",
			 "temporary files that the run wrote" },
	[FILTER_PATTERNS] = { "patterns", "filters.ignore_paths",
			      "a pattern of filters.ignore_paths" },
};

/* The deepest place that holds a path decides; FILTER_NONE is an exception to
 * the place above it. */
static const struct place {
	const char *dir;
	enum filter_id filter;
} places[] = {
	{ "/bin", FILTER_SYSTEM },
	{ "/boot", FILTER_SYSTEM },
	{ "/dev", FILTER_DEVICES },
	{ "/dev/hugepages", FILTER_TMP },
	{ "/dev/shm", FILTER_TMP }, /* files with content, not devices */
	{ "/etc", FILTER_SYSTEM },
	{ "/etc/gitconfig", FILTER_GIT },
	{ "/etc/gshadow", FILTER_CREDENTIALS },
	{ "/etc/shadow", FILTER_CREDENTIALS },
	{ "/gnu/store", FILTER_SYSTEM },
	{ "/lib", FILTER_SYSTEM },
	{ "/lib32", FILTER_SYSTEM },
	{ "/lib64", FILTER_SYSTEM },
	{ "/libx32", FILTER_SYSTEM },
	{ "/nix/store", FILTER_SYSTEM },
	{ "/opt", FILTER_SYSTEM }, /* what looks like software, see `software` */
	{ "/opt/ml", FILTER_NONE }, /* where hosted training puts its data */
	{ "/proc", FILTER_DEVICES },
	{ "/run", FILTER_SYSTEM },
	{ "/run/media", FILTER_NONE }, /* disks the user plugged in */
	{ "/sbin", FILTER_SYSTEM },
	{ "/snap", FILTER_SYSTEM },
	{ "/sys", FILTER_DEVICES },
	{ "/tmp", FILTER_TMP },
	{ "/usr", FILTER_SYSTEM },
	{ "/var/cache", FILTER_SYSTEM },
	/* Of what services keep, the parts that libraries read on the way. */
	{ "/var/lib/apt", FILTER_SYSTEM },
	{ "/var/lib/dbus", FILTER_SYSTEM }, /* machine-id */
	{ "/var/lib/dpkg", FILTER_SYSTEM },
	{ "/var/lib/extrausers", FILTER_SYSTEM }, /* accounts */
	{ "/var/lib/flatpak", FILTER_SYSTEM },
	{ "/var/lib/gems", FILTER_SYSTEM },
	{ "/var/lib/nscd", FILTER_SYSTEM },
	{ "/var/lib/pacman", FILTER_SYSTEM },
	{ "/var/lib/rpm", FILTER_SYSTEM },
	{ "/var/lib/snapd", FILTER_SYSTEM },
	{ "/var/lib/sss", FILTER_SYSTEM }, /* accounts */
	{ "/var/lib/systemd", FILTER_SYSTEM },
	{ "/var/lib/texmf", FILTER_SYSTEM },
	{ "/var/run", FILTER_SYSTEM },
	{ "/var/tmp", FILTER_TMP },
};

struct part {
	const char *pattern; /* whole components, "*" and "?" inside them */
	enum filter_id filter;
};

/* Those that begin with a dot, apart from the others: most components of most
 * paths do not, and are spared this list. */
static const struct part hidden[] = {
	{ ".roar", FILTER_ROAR },
	{ ".git", FILTER_GIT },
	{ ".gitconfig", FILTER_GIT },
	{ ".config/git", FILTER_GIT },

	/* Secrets: their digests do not belong in a record. */
	{ ".aws", FILTER_CREDENTIALS },
	{ ".azure", FILTER_CREDENTIALS },
	{ ".boto", FILTER_CREDENTIALS },
	{ ".cache/huggingface/stored_tokens", FILTER_CREDENTIALS },
	{ ".cache/huggingface/token", FILTER_CREDENTIALS },
	{ ".config/gcloud", FILTER_CREDENTIALS },
	{ ".config/gh/hosts.yml", FILTER_CREDENTIALS },
	{ ".config/rclone/rclone.conf", FILTER_CREDENTIALS },
	{ ".databrickscfg", FILTER_CREDENTIALS },
	{ ".docker/config.json", FILTER_CREDENTIALS },
	{ ".git-credentials", FILTER_CREDENTIALS },
	{ ".gnupg", FILTER_CREDENTIALS },
	{ ".huggingface/token", FILTER_CREDENTIALS },
	{ ".kaggle/kaggle.json", FILTER_CREDENTIALS },
	{ ".kube", FILTER_CREDENTIALS },
	{ ".my.cnf", FILTER_CREDENTIALS },
	{ ".netrc", FILTER_CREDENTIALS },
	{ ".npmrc", FILTER_CREDENTIALS },
	{ ".password-store", FILTER_CREDENTIALS },
	{ ".pgpass", FILTER_CREDENTIALS },
	{ ".pypirc", FILTER_CREDENTIALS },
	{ ".s3cfg", FILTER_CREDENTIALS },
	{ ".ssh", FILTER_CREDENTIALS },
	{ ".vault-token", FILTER_CREDENTIALS },

	/* Packages of Python, conda, node, Julia, Rust, Ruby, Java. */
	{ ".pyenv", FILTER_PACKAGES },
	{ ".tox", FILTER_PACKAGES },
	{ ".nox", FILTER_PACKAGES },
	{ ".local/bin", FILTER_PACKAGES },
	{ ".local/lib", FILTER_PACKAGES },
	{ ".local/pipx", FILTER_PACKAGES },
	{ ".local/share/pipx", FILTER_PACKAGES },
	{ ".local/share/uv", FILTER_PACKAGES },
	{ ".conda", FILTER_PACKAGES },
	{ ".nvm", FILTER_PACKAGES },
	{ ".julia", FILTER_PACKAGES },
	{ ".cargo/registry", FILTER_PACKAGES },
	{ ".cargo/git", FILTER_PACKAGES },
	{ ".cargo/bin", FILTER_PACKAGES },
	{ ".rustup", FILTER_PACKAGES },
	{ ".gem", FILTER_PACKAGES },
	{ ".m2/repository", FILTER_PACKAGES },

	/* Compiled kernels of torch and triton.  Not torch/hub: weights. */
	{ ".triton", FILTER_TORCH_CACHE },
	{ ".cache/torch/inductor", FILTER_TORCH_CACHE },
	{ ".cache/torch/kernels", FILTER_TORCH_CACHE },
	{ ".cache/torch_extensions", FILTER_TORCH_CACHE },
	{ ".cache/torchinductor", FILTER_TORCH_CACHE },
	{ ".cache/triton", FILTER_TORCH_CACHE },
	{ ".cache/vllm/torch_compile_cache", FILTER_TORCH_CACHE },

	/* What libraries and tools can make again at any time. */
	{ ".cache/JNA", FILTER_LIBRARY_CACHES }, /* unpacked native libraries */
	{ ".cache/bazel", FILTER_LIBRARY_CACHES }, /* builds */
	{ ".cache/black", FILTER_LIBRARY_CACHES }, /* which files are clean */
	{ ".cache/ccache", FILTER_LIBRARY_CACHES }, /* builds */
	{ ".cache/cupy", FILTER_LIBRARY_CACHES }, /* kernels */
	{ ".cache/flashinfer", FILTER_LIBRARY_CACHES }, /* kernels */
	{ ".cache/fontconfig", FILTER_LIBRARY_CACHES }, /* font lists */
	{ ".cache/go-build", FILTER_LIBRARY_CACHES }, /* builds */
	{ ".cache/gstreamer-1.0", FILTER_LIBRARY_CACHES }, /* plugin lists */
	{ ".cache/huggingface/hub/.locks", FILTER_LIBRARY_CACHES }, /* locks */
	{ ".cache/jax", FILTER_LIBRARY_CACHES }, /* compiled programs */
	{ ".cache/matplotlib", FILTER_LIBRARY_CACHES }, /* font lists */
	{ ".cache/mesa_shader_cache*", FILTER_LIBRARY_CACHES }, /* shaders */
	{ ".cache/mypy", FILTER_LIBRARY_CACHES }, /* types */
	{ ".cache/numba", FILTER_LIBRARY_CACHES }, /* compiled functions */
	{ ".cache/nvidia", FILTER_LIBRARY_CACHES }, /* shaders */
	{ ".cache/pip", FILTER_LIBRARY_CACHES }, /* wheels */
	{ ".cache/pre-commit", FILTER_LIBRARY_CACHES }, /* tools */
	{ ".cache/pypoetry", FILTER_LIBRARY_CACHES }, /* wheels */
	{ ".cache/roar", FILTER_LIBRARY_CACHES }, /* which tracers work */
	{ ".cache/sccache", FILTER_LIBRARY_CACHES }, /* builds */
	{ ".cache/thumbnails", FILTER_LIBRARY_CACHES }, /* pictures */
	{ ".cache/tvm", FILTER_LIBRARY_CACHES }, /* kernels */
	{ ".cache/uv", FILTER_LIBRARY_CACHES }, /* wheels */
	{ ".cache/wandb", FILTER_LIBRARY_CACHES }, /* copies of uploads */
	{ ".cache/yarn", FILTER_LIBRARY_CACHES }, /* packages */
	{ ".ccache", FILTER_LIBRARY_CACHES },
	{ ".config/matplotlib", FILTER_LIBRARY_CACHES }, /* style, font lists */
	{ ".cupy/kernel_cache", FILTER_LIBRARY_CACHES },
	{ ".keras/keras.json", FILTER_LIBRARY_CACHES }, /* chosen back end */
	{ ".matplotlib", FILTER_LIBRARY_CACHES },
	{ ".mypy_cache", FILTER_LIBRARY_CACHES },
	{ ".npm/_cacache", FILTER_LIBRARY_CACHES },
	{ ".numba_cache", FILTER_LIBRARY_CACHES },
	{ ".nv", FILTER_LIBRARY_CACHES }, /* CUDA's compiled kernels */
	{ ".pytest_cache", FILTER_LIBRARY_CACHES },
	{ ".ruff_cache", FILTER_LIBRARY_CACHES },
	{ ".theano", FILTER_LIBRARY_CACHES }, /* compiled functions */
};

static const struct part visible[] = {
	{ "_netrc", FILTER_CREDENTIALS },
	{ "id_dsa", FILTER_CREDENTIALS },
	{ "id_ecdsa", FILTER_CREDENTIALS },
	{ "id_ed25519", FILTER_CREDENTIALS },
	{ "id_rsa", FILTER_CREDENTIALS },

	/* Installed packages, wherever they are installed. */
	{ "site-packages", FILTER_PACKAGES },
	{ "dist-packages", FILTER_PACKAGES },
	{ "*.dist-info", FILTER_PACKAGES },
	{ "*.egg-info", FILTER_PACKAGES },
	{ "conda-meta", FILTER_PACKAGES },
	{ "node_modules", FILTER_PACKAGES },
	{ "renv/library", FILTER_PACKAGES },

	{ "torchinductor_*", FILTER_TORCH_CACHE },
	{ "*.nbc", FILTER_LIBRARY_CACHES }, /* numba: compiled functions */
	{ "*.nbi", FILTER_LIBRARY_CACHES },
};

/* Names that prove nothing inside the project. */
static const struct part outside[] = {
	{ ".venv", FILTER_PACKAGES },
	/* Python, wherever its prefix is: pyenv, conda, venv, pip --user. */
	{ "lib/python?.*", FILTER_PACKAGES },
	{ "lib64/python?.*", FILTER_PACKAGES },
	{ "lib/python3*.zip", FILTER_PACKAGES },
	{ "lib/libpython*", FILTER_PACKAGES },
	{ "bin/python*", FILTER_PACKAGES },
	{ "pyvenv.cfg", FILTER_PACKAGES },
	{ "venv/bin", FILTER_PACKAGES },
	{ "venv/lib", FILTER_PACKAGES },
	{ "venv/lib64", FILTER_PACKAGES },
	/* conda: an installation, its environments, its package store */
	{ "anaconda?", FILTER_PACKAGES },
	{ "miniconda?", FILTER_PACKAGES },
	{ "miniforge?", FILTER_PACKAGES },
	{ "mambaforge", FILTER_PACKAGES },
	{ "micromamba/envs", FILTER_PACKAGES },
	{ "micromamba/pkgs", FILTER_PACKAGES },
	{ "conda/pkgs", FILTER_PACKAGES },
	/* the other languages */
	{ "R/*-library", FILTER_PACKAGES },
	{ "R/library", FILTER_PACKAGES },
	{ "R/site-library", FILTER_PACKAGES },
	{ "go/pkg/mod", FILTER_PACKAGES },
};

/* Caches of the user's own modules.  Only written ones are noise: a program that reads
 * one runs it. */
static const struct part compiled[] = {
	{ "__pycache__", FILTER_PACKAGES },
	{ "*.pyc", FILTER_PACKAGES },
	{ "*.pyo", FILTER_PACKAGES },
};

/* What an installed program has: /opt holds software, but data as well. */
static const char *const software[] = {
	"bin",	 "etc",	    "include", "lib",	"lib32",
	"lib64", "libexec", "sbin",    "share", "targets",
};

enum {
	N_PLACES = ARRAY_SIZE(places),
	N_HIDDEN = ARRAY_SIZE(hidden),
	N_VISIBLE = ARRAY_SIZE(visible),
	N_OUTSIDE = ARRAY_SIZE(outside),
	N_COMPILED = ARRAY_SIZE(compiled),
	N_SOFTWARE = ARRAY_SIZE(software),
};

/* Does one component match, "*" any run of bytes and "?" any one?  Goes back
 * only to the last star, which is enough. */
static bool component_matches(const char *p, size_t p_len, const char *s,
			      size_t s_len)
{
	size_t star = SIZE_MAX;
	size_t mark = 0;
	size_t i = 0;
	size_t j = 0;

	while (j < s_len) {
		if (i < p_len && p[i] == '*') {
			star = i++;
			mark = j;
		} else if (i < p_len && (p[i] == '?' || p[i] == s[j])) {
			i++;
			j++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			j = ++mark;
		} else {
			return false;
		}
	}
	while (i < p_len && p[i] == '*')
		i++;
	return i == p_len;
}

/* Does the pattern match a run of components from the start of `s`? */
static bool run_matches(const char *p, const char *s)
{
	for (;;) {
		size_t p_len = strcspn(p, "/");
		size_t s_len = strcspn(s, "/");

		if (!s_len || !component_matches(p, p_len, s, s_len))
			return false;
		p += p_len;
		s += s_len;
		p += strspn(p, "/");
		if (!*p)
			return true;
		s += strspn(s, "/");
	}
}

/* A quick look, so that most components are done after two comparisons.  All
 * patterns that begin with a star are plain endings. */
static bool may_match(const char *p, const char *s, size_t len)
{
	size_t n;

	if (p[0] != '*')
		return p[0] == s[0] && p[1] == s[1];
	n = strlen(p) - 1;
	return len >= n && memcmp(s + len - n, p + 1, n) == 0;
}

/* The state of one match. */
struct question {
	const struct filter_options *options;
	const char *path;
	bool written;
	bool in_project;
	enum filter_id best; /* so far */
};

static void take(struct question *q, enum filter_id id)
{
	bool off = q->options->off[id] && filters[id].key;

	if (id != FILTER_NONE && !off &&
	    (q->best == FILTER_NONE || id < q->best))
		q->best = id;
}

static void match_list(struct question *q, const struct part *list, size_t n,
		       const char *s, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (may_match(list[i].pattern, s, len) &&
		    run_matches(list[i].pattern, s))
			take(q, list[i].filter);
}

/* Is the directory that ends at `end`, below the project, an environment? */
static bool is_environment(const struct question *q, const char *end)
{
	const struct filter_options *o = q->options;

	return q->in_project && *end && o->is_environment &&
	       o->is_environment(o->ctx, q->path, (size_t)(end - q->path));
}

static void match_parts(struct question *q)
{
	const char *s = q->path;

	/* A project may well lie inside a directory that looks like noise. */
	if (q->in_project)
		s = path_relative(s, q->options->project);
	s += strspn(s, "/");
	while (*s) {
		size_t len = strcspn(s, "/");

		if (s[0] == '.')
			match_list(q, hidden, N_HIDDEN, s, len);
		match_list(q, visible, N_VISIBLE, s, len);
		if (!q->in_project)
			match_list(q, outside, N_OUTSIDE, s, len);
		if (q->written)
			match_list(q, compiled, N_COMPILED, s, len);
		/* A directory of that name is an environment, or the user's. */
		if (strcmp(s, ".env") == 0)
			take(q, FILTER_CREDENTIALS);
		s += len;
		if (is_environment(q, s))
			take(q, FILTER_PACKAGES);
		s += strspn(s, "/");
	}
}

static bool is_temporary(const struct filter_options *options, const char *path)
{
	const char *dir = options->tmpdir;

	return dir && dir[0] == '/' && dir[strspn(dir, "/")] &&
	       path_is_under(path, dir);
}

/* /tmp/torch_x and /tmp/triton_x; elsewhere such names are the user's. */
static bool is_torch_in_tmp(const struct filter_options *options,
			    const char *path)
{
	const char *rest = NULL;

	if (path_is_under(path, "/tmp"))
		rest = path_relative(path, "/tmp");
	else if (path_is_under(path, "/var/tmp"))
		rest = path_relative(path, "/var/tmp");
	else if (is_temporary(options, path))
		rest = path_relative(path, options->tmpdir);
	return rest && (strncmp(rest, "torch_", 6) == 0 ||
			strncmp(rest, "triton", 6) == 0);
}

static bool is_software(const char *s)
{
	for (s += strspn(s, "/"); *s; s += strspn(s, "/")) {
		size_t len = strcspn(s, "/");

		for (size_t i = 0; i < N_SOFTWARE; i++)
			if (strlen(software[i]) == len &&
			    memcmp(software[i], s, len) == 0 && s[len])
				return true;
		s += len;
	}
	return false;
}

static enum filter_id place_of(const char *path)
{
	enum filter_id found = FILTER_NONE;

	for (size_t i = 0; i < N_PLACES; i++) {
		const char *dir = places[i].dir;

		/* Sorted: a place comes before the places inside it. */
		if (dir[1] != path[1] || !path_is_under(path, dir))
			continue;
		if (strcmp(dir, "/opt") != 0 || is_software(path + 4))
			found = places[i].filter;
	}
	return found;
}

static bool is_linked(const struct question *q)
{
	const struct filter_options *o = q->options;

	return o->is_linked && o->is_linked(o->links_ctx, q->path);
}

static void match_places(struct question *q)
{
	enum filter_id place = place_of(q->path);

	if (place == FILTER_NONE && is_temporary(q->options, q->path))
		place = FILTER_TMP;
	if (q->in_project && (place == FILTER_SYSTEM || place == FILTER_TMP))
		return;
	if (place == FILTER_TMP && (!q->written || is_linked(q)))
		return;
	take(q, place);
}

/* Absolute patterns (and "~/...") match from the root, others at any component:
 * below the project for its files, anywhere else for the rest. */
static bool pattern_matches(const struct filter_options *options,
			    const char *pattern, const char *path,
			    bool in_project)
{
	const char *s = path + strspn(path, "/");

	if (pattern[0] == '~' && pattern[1] == '/') {
		const char *home = options->home;

		if (!home || home[0] != '/' || !path_is_under(path, home))
			return false;
		s = path_relative(path, home);
		pattern += 1 + strspn(pattern + 1, "/");
		return *pattern && run_matches(pattern, s);
	}
	if (pattern[0] == '/') {
		pattern += strspn(pattern, "/");
		return !*pattern || run_matches(pattern, s);
	}
	if (pattern[0] == '.' && pattern[1] == '/')
		pattern += 1 + strspn(pattern + 1, "/");
	if (!*pattern)
		return false;
	if (in_project)
		s = path_relative(path, options->project);
	while (*s) {
		if (run_matches(pattern, s))
			return true;
		s += strcspn(s, "/");
		s += strspn(s, "/");
	}
	return false;
}

static void match_patterns(struct question *q)
{
	const struct filter_options *o = q->options;

	for (size_t i = 0; i < o->n_patterns; i++)
		if (o->patterns[i] &&
		    pattern_matches(o, o->patterns[i], q->path, q->in_project))
			take(q, FILTER_PATTERNS);
}

enum filter_id filter_match(const struct filter_options *options,
			    const char *path, bool written)
{
	struct question q = {
		.options = options,
		.path = path,
		.written = written,
		.in_project = options->project &&
			      path_is_under(path, options->project),
	};

	if (path[0] != '/')
		return FILTER_NONE;
	match_parts(&q);
	match_places(&q);
	if (!q.in_project && is_torch_in_tmp(options, path) && !is_linked(&q))
		take(&q, FILTER_TORCH_CACHE);
	if (q.best == FILTER_NONE)
		match_patterns(&q);
	return q.best;
}

const char *filter_name(enum filter_id id)
{
	return (unsigned)id < FILTER_END ? filters[id].name : "unknown";
}

const char *filter_key(enum filter_id id)
{
	return (unsigned)id < FILTER_END ? filters[id].key : NULL;
}

const char *filter_about(enum filter_id id)
{
	return (unsigned)id < FILTER_END ? filters[id].about : "";
}
