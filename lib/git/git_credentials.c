/* git_credentials.c - see git_credentials.h
 *
 * Names are compared in lower case.  The tables are the whole knowledge: to have one
 * more kind of file left out, add a row. */
#include "git/git_credentials.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

enum {
	NAME_MAX_BYTES = 256, /* of one component */
	WORDS_MAX = 32, /* checked in one name */
};

/* Whole names of files. */
static const char *const files[] = {
	/* variables for programs, set by shells and frameworks */
	".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".flaskenv",
	".renviron",
	/* keys and key stores */
	"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore",
	"*.kdbx", "*.kdb", "*.ppk", "*.ovpn", "*.keytab", "id_rsa*", "id_dsa*",
	"id_ecdsa*", "id_ed25519*",
	/* what tools log in with */
	".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf",
	".mylogin.cnf", ".npmrc", ".yarnrc.yml", ".pypirc", ".boto", ".s3cfg",
	".databrickscfg", ".dockercfg", ".dockerconfigjson", ".htpasswd",
	".vault-token", ".cdsapirc", ".modal.toml", "rclone.conf", "kubeconfig",
	"kaggle.json", "auth.json", "gcloud*.json", "*firebase-adminsdk*.json",
	"*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json"
};

/* Runs of components at any depth; everything below them counts. */
static const char *const folders[] = {
	".ssh",
	".aws",
	".azure",
	".gnupg",
	".kube",
	".kaggle",
	".config/gcloud",
	".config/gh",
	".password-store",
	".docker/config.json",
};

/* A word that marks a secret anywhere in a name. */
static const char *const words[] = {
	"secret",     "secrets",	"credential", "credentials", "creds",
	"password",   "passwords",	"passwd",     "apikey",	     "apikeys",
	"privatekey", "serviceaccount", "accesskey",
};

/* Two words in a row.  A "key" or a "token" alone is often data: answer_key.json,
 * token_counts.json, special_tokens_map.json. */
static const char *const pairs[][2] = {
	{ "api", "key" },	  { "api", "keys" },	{ "private", "key" },
	{ "private", "keys" },	  { "access", "key" },	{ "access", "keys" },
	{ "service", "account" }, { "signing", "key" }, { "ssh", "key" },
	{ "gcp", "key" },	  { "aws", "key" },	{ "master", "key" },
	{ "encryption", "key" },  { "deploy", "key" },
};

static const char *const template_words[] = {
	"example", "examples", "sample", "template",
	"tmpl",	   "dist",     "schema", "dummy",
};

static const char *const copy_endings[] = { "~",     ".bak",  ".old",
					    ".orig", ".save", ".backup" };

/* Files for which words in the name mean nothing. */
static const char *const code_endings[] = {
	"py",	 "pyi",	  "pyx",  "ipynb", "sh",   "bash",   "zsh", "fish",
	"c",	 "h",	  "cc",	  "cpp",   "cxx",  "hh",     "hpp", "cu",
	"cuh",	 "rs",	  "go",	  "java",  "kt",   "scala",  "js",  "mjs",
	"cjs",	 "jsx",	  "ts",	  "tsx",   "vue",  "svelte", "rb",  "pl",
	"pm",	 "php",	  "r",	  "rmd",   "qmd",  "jl",     "lua", "m",
	"swift", "cs",	  "fs",	  "hs",	   "ml",   "mli",    "clj", "ex",
	"exs",	 "erl",	  "html", "css",   "scss", "md",     "rst", "tex",
	"proto", "cmake", "mk",	  "bzl",   "nf",   "smk",    "wdl", "ps1",
	"bat",	 "f90",	  "d",	  "zig",   "nim",  "dart",   "sol", "tf",
};

static bool is_in(const char *const *table, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i], text) == 0)
			return true;
	return false;
}

/* One component in lower case; false when it is longer than names are. */
static bool lower(const char *s, size_t len, char ret[NAME_MAX_BYTES])
{
	if (len >= NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		ret[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') :
						      s[i];
	ret[len] = '\0';
	return true;
}

static void strip_copy_endings(char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(copy_endings);) {
		size_t n = strlen(copy_endings[i]);
		size_t len = strlen(name);

		if (len > n && strcmp(name + len - n, copy_endings[i]) == 0) {
			name[len - n] = '\0';
			i = 0;
		} else {
			i++;
		}
	}
}

/* Cuts the name into its words, at everything but letters and digits. */
static size_t split(char *name, const char *ret[WORDS_MAX])
{
	size_t n = 0;

	for (char *p = name; *p && n < WORDS_MAX;) {
		size_t len = strcspn(p, " !#$%&'()+,-.;=@[]^_`{}~");

		if (len)
			ret[n++] = p;
		if (!p[len])
			break;
		p[len] = '\0';
		p += len + 1;
	}
	return n;
}

static const char *ending_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? dot + 1 : "";
}

static bool is_code(const char *name)
{
	return is_in(code_endings, ARRAY_SIZE(code_endings), ending_of(name));
}

static bool is_pair(const char *first, const char *second)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (strcmp(pairs[i][0], first) == 0 &&
		    strcmp(pairs[i][1], second) == 0)
			return true;
	return false;
}

/* The words of a name without its ending. */
static bool words_tell(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_in(words, ARRAY_SIZE(words), list[i]) ||
		    (i + 1 < n && is_pair(list[i], list[i + 1])))
			return true;
	return n && strcmp(list[n - 1], "token") == 0;
}

static bool is_template(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_in(template_words, ARRAY_SIZE(template_words), list[i]))
			return true;
	return false;
}

static bool is_known_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fnmatch(files[i], name, 0) == 0)
			return true;
	return false;
}

/* Is `path` at or below one of the directories, seen from its component at `s`? */
static bool is_known_folder(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t n = strlen(folders[i]);

		if (strncasecmp(s, folders[i], n) == 0 &&
		    (s[n] == '/' || (s[n] == '\0' && strchr(folders[i], '/'))))
			return true;
	}
	return false;
}

static bool is_secret_folder(const char *s, size_t len)
{
	char name[NAME_MAX_BYTES];

	return lower(s, len, name) &&
	       is_in(words, ARRAY_SIZE(words), name + (name[0] == '.'));
}

struct place {
	const char *name; /* the last component */
	bool known; /* a directory above holds nothing but secrets */
	bool secret; /* a directory above is marked by its name */
};

static struct place find_place(const char *path)
{
	struct place place = { .name = path };

	for (;;) {
		size_t len = strcspn(place.name, "/");

		place.known = place.known || is_known_folder(place.name);
		if (!place.name[len])
			return place;
		place.secret = place.secret ||
			       is_secret_folder(place.name, len);
		place.name += len + 1;
	}
}

bool git_names_credentials(const char *path, bool executable)
{
	const struct place place = find_place(path);
	char name[NAME_MAX_BYTES], stem[NAME_MAX_BYTES];
	const char *list[WORDS_MAX];
	const char *ending;
	size_t n;

	if (place.known)
		return true;
	if (!lower(place.name, strlen(place.name), name))
		return false;
	strip_copy_endings(name);
	memcpy(stem, name, strlen(name) + 1);
	ending = ending_of(name);
	n = split(stem, list);
	if (strcmp(ending, "pub") == 0 || is_template(list, n))
		return false;
	if (is_known_file(name))
		return true;
	if (is_code(name) || (executable && !*ending))
		return false;
	return place.secret || words_tell(list, *ending && n ? n - 1 : n);
}

bool git_holds_credentials(const char *path, const char *data, size_t len)
{
	static const char begin[] = "-----BEGIN ";
	static const char end[] = "PRIVATE KEY-----";
	char name[NAME_MAX_BYTES];
	const char *slash = strrchr(path, '/');
	const char *found;

	path = slash ? slash + 1 : path;
	if (!lower(path, strlen(path), name) || is_code(name))
		return false;
	found = memmem(data, len, begin, sizeof(begin) - 1);
	return found && memmem(found, len - (size_t)(found - data), end,
			       sizeof(end) - 1);
}
