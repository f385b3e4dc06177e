/* ckpt_name.c - see ckpt_name.h */
#include "ckpt/ckpt_name.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/macros.h"

enum { STEP_DIGITS = 12, RANK_DIGITS = 5, STEP_LEN = 5 + STEP_DIGITS };

/* How the kinds are written: PREFIX [RANK "-of-" WORLD "-"] [SAVE] SUFFIX. */
static const struct form {
	const char *prefix, *suffix;
	bool has_rank, has_save;
} forms[] = {
	[CKPT_NAME_DATA] = { "data-", ".safetensors", true, true },
	[CKPT_NAME_TREE] = { "data-", ".tree", true, true },
	[CKPT_NAME_PART] = { "part-", ".json", true, true },
	[CKPT_NAME_WRITING] = { "writing-", "", false, true },
	[CKPT_NAME_MANIFEST] = { CKPT_MANIFEST, "", false, false },
	[CKPT_NAME_TEMPORARY] = { CKPT_MANIFEST ".", "", false, true },
	[CKPT_NAME_FAILED] = { "failed-", ".json", false, true },
};

void ckpt_name_step(char ret[CKPT_NAME_SIZE], uint64_t step)
{
	assert(step <= CKPT_MAX_STEP);
	(void)snprintf(ret, CKPT_NAME_SIZE, "step-%0*llu", STEP_DIGITS,
		       (unsigned long long)step);
}

void ckpt_name_file(char ret[CKPT_NAME_SIZE], const struct ckpt_name *name)
{
	const struct form *form = &forms[name->kind];
	char ranks[32] = "";

	assert(name->world <= CKPT_MAX_WORLD && name->rank <= name->world);
	if (form->has_rank)
		(void)snprintf(ranks, sizeof(ranks), "%05u-of-%05u-",
			       name->rank, name->world);
	(void)snprintf(ret, CKPT_NAME_SIZE, "%s%s%s%s", form->prefix, ranks,
		       form->has_save ? name->save : "", form->suffix);
}

void ckpt_name_path(char ret[CKPT_NAME_SIZE], uint64_t step,
		    const struct ckpt_name *name)
{
	char file[CKPT_NAME_SIZE];

	ckpt_name_step(ret, step);
	ckpt_name_file(file, name);
	assert(strlen(file) < CKPT_NAME_SIZE - STEP_LEN - 1);
	ret[STEP_LEN] = '/';
	memcpy(ret + STEP_LEN + 1, file, strlen(file) + 1);
}

/* Exactly `n` digits; *at moves past them. */
static bool take_digits(const char **at, unsigned n, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((*at)[i] < '0' || (*at)[i] > '9')
			return false;
		value = 10 * value + (uint64_t)((*at)[i] - '0');
	}
	*at += n;
	*ret = value;
	return true;
}

static bool take_text(const char **at, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

static bool take_save_id(const char **at, char ret[CKPT_SAVE_ID_LEN + 1])
{
	for (unsigned i = 0; i < CKPT_SAVE_ID_LEN; i++) {
		char c = (*at)[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		ret[i] = c;
	}
	ret[CKPT_SAVE_ID_LEN] = '\0';
	*at += CKPT_SAVE_ID_LEN;
	return true;
}

static bool take_ranks(const char **at, struct ckpt_name *ret)
{
	uint64_t rank, world;

	if (!take_digits(at, RANK_DIGITS, &rank) || !take_text(at, "-of-") ||
	    !take_digits(at, RANK_DIGITS, &world) || !take_text(at, "-") ||
	    rank >= world)
		return false;
	ret->rank = (uint32_t)rank;
	ret->world = (uint32_t)world;
	return true;
}

static bool has_form(const char *text, enum ckpt_name_kind kind,
		     struct ckpt_name *ret)
{
	const struct form *form = &forms[kind];
	struct ckpt_name name = { .kind = kind };

	if (!take_text(&text, form->prefix) ||
	    (form->has_rank && !take_ranks(&text, &name)) ||
	    (form->has_save && !take_save_id(&text, name.save)) ||
	    strcmp(text, form->suffix) != 0)
		return false;
	*ret = name;
	return true;
}

static bool take_step(const char **at, uint64_t *ret_step)
{
	return take_text(at, "step-") && take_digits(at, STEP_DIGITS, ret_step);
}

bool ckpt_name_parse_step(const char *text, uint64_t *ret_step)
{
	uint64_t step;

	if (!take_step(&text, &step) || *text)
		return false;
	*ret_step = step;
	return true;
}

bool ckpt_name_parse_file(const char *text, struct ckpt_name *ret)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++)
		if (has_form(text, (enum ckpt_name_kind)i, ret))
			return true;
	return false;
}

bool ckpt_name_parse_path(const char *text, uint64_t *ret_step,
			  struct ckpt_name *ret)
{
	uint64_t step;

	if (!take_step(&text, &step) || !take_text(&text, "/") ||
	    !ckpt_name_parse_file(text, ret))
		return false;
	*ret_step = step;
	return true;
}

bool ckpt_name_is_save_id(const char *text)
{
	char id[CKPT_SAVE_ID_LEN + 1];

	return take_save_id(&text, id) && !*text;
}

int ckpt_name_new_save_id(char ret[CKPT_SAVE_ID_LEN + 1])
{
	uint32_t bits;

	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return -errno;
	(void)snprintf(ret, CKPT_SAVE_ID_LEN + 1, "%08x", bits);
	return 0;
}
