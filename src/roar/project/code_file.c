/* code_file.c - see code_file.h */
#include "project/code_file.h"

#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/path.h"

static const char *const endings[] = {
	"awk",	 "bash", "c",	 "cc",	  "cfg",   "cmake", "conf", "cpp",
	"cu",	 "cuh",	 "cxx",	 "go",	  "h",	   "hpp",   "hs",   "ini",
	"ipynb", "java", "jl",	 "js",	  "kt",	   "lua",   "m",    "mjs",
	"mk",	 "ml",	 "pl",	 "pm",	  "proto", "py",    "pyi",  "pyx",
	"r",	 "rb",	 "rs",	 "scala", "sh",	   "smk",   "sql",  "swift",
	"toml",	 "ts",	 "yaml", "yml",	  "zsh",
};

static const char *const names[] = { "Dockerfile", "GNUmakefile", "Makefile",
				     "Snakefile", "makefile" };

bool code_file_is(const char *path, const char *script)
{
	const char *name = path_basename(path);
	const char *dot = strrchr(name, '.');

	if (script && !strcmp(path, script))
		return true;
	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (!strcasecmp(dot + 1, endings[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
