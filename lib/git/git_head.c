/* git_head.c - see git_head.h
 *
 * HEAD and loose refs hold one line: "ref: <name>" or an object id.  A ref without a
 * file may be in packed-refs, one "<id> <name>" a line.  In a linked work tree HEAD and
 * a few kinds of refs are its own; all others are in the common directory. */
#include "git/git_head.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "git/git_repo.h"

enum {
	REF_MAX_BYTES = 4096,
	PACKED_MAX_BYTES = 256 << 20,
	SYMREF_DEPTH = 5, /* as deep as git follows */
};

void git_head_release(struct git_head *head)
{
	free(head->ref);
	free(head->commit);
	*head = (struct git_head){ 0 };
}

bool git_hex_valid(const char *hex, size_t len)
{
	if (len != 40 && len != 64)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)hex[i]) &&
		    (hex[i] < 'a' || hex[i] > 'f'))
			return false;
	return true;
}

const char *git_ref_short(const char *ref)
{
	return strncmp(ref, "refs/heads/", 11) == 0 ? ref + 11 : ref;
}

/* Names become paths below the repository: none may lead out of it. */
static bool ref_is_safe(const char *ref)
{
	return strncmp(ref, "refs/", 5) == 0 && !strstr(ref, "..") &&
	       !strstr(ref, "//") && strlen(ref) < REF_MAX_BYTES;
}

static const char *dir_of(const struct git_repo *repo, const char *ref)
{
	static const char *const own[] = { "refs/bisect/", "refs/worktree/",
					   "refs/rewritten/" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strncmp(ref, own[i], strlen(own[i])) == 0)
			return repo->git_dir;
	return repo->common_dir;
}

/* Reads a one-line file and drops the white space at its end. */
static int read_line(const char *dir, const char *name, struct str *out)
{
	int r;

	str_clear(out);
	r = git_read_file(dir, name, REF_MAX_BYTES, out);
	if (r < 0)
		return r == -ENOTDIR || r == -EISDIR ? -ENOENT : r;
	while (out->len && isspace((unsigned char)out->data[out->len - 1]))
		out->data[--out->len] = '\0';
	return 0;
}

/* Points to the name in "ref: name", or NULL. */
static const char *symref_target(const struct str *line)
{
	const char *p = str_cstr(line);

	if (strncmp(p, "ref:", 4) != 0)
		return NULL;
	p += 4;
	p += strspn(p, " \t");
	return ref_is_safe(p) ? p : NULL;
}

/* Finds "<hex> <ref>\n" in the text; memmem() does the walking, since the file
 * of a large project has megabytes. */
static int find_packed(const struct str *text, const char *ref,
		       char ret_hex[GIT_HEX_MAX + 1])
{
	CLEANUP(str_release) struct str needle = STR_INIT;
	const char *from = text->data;
	const char *end = text->data + text->len;

	str_addf(&needle, " %s\n", ref);
	if (str_error(&needle) < 0)
		return -ENOMEM;
	while (from < end) {
		const char *hit = memmem(from, (size_t)(end - from),
					 needle.data, needle.len);
		const char *line = hit;

		if (!hit)
			break;
		while (line > text->data && line[-1] != '\n')
			line--;
		if (git_hex_valid(line, (size_t)(hit - line))) {
			memcpy(ret_hex, line, (size_t)(hit - line));
			ret_hex[hit - line] = '\0';
			return 1;
		}
		from = hit + 1;
	}
	return 0;
}

static int read_packed(const struct git_repo *repo, const char *ref,
		       char ret_hex[GIT_HEX_MAX + 1])
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	r = git_read_file(repo->common_dir, "packed-refs", PACKED_MAX_BYTES,
			  &text);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return find_packed(&text, ref, ret_hex);
}

int git_ref_read(const struct git_repo *repo, const char *ref,
		 char ret_hex[GIT_HEX_MAX + 1])
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(str_release) struct str line = STR_INIT;

	if (!ref_is_safe(ref))
		return -EINVAL;
	str_adds(&name, ref);
	for (int depth = 0; depth < SYMREF_DEPTH; depth++) {
		const char *target;
		int r = str_error(&name);

		if (r < 0)
			return r;
		r = read_line(dir_of(repo, name.data), name.data, &line);
		if (r == -ENOENT)
			return read_packed(repo, name.data, ret_hex);
		if (r < 0)
			return r;
		if (git_hex_valid(str_cstr(&line), line.len)) {
			memcpy(ret_hex, line.data, line.len + 1);
			return 1;
		}
		target = symref_target(&line);
		if (!target)
			return -EBADMSG;
		str_clear(&name);
		str_adds(&name, target);
	}
	return -ELOOP;
}

int git_head_read(const struct git_repo *repo, struct git_head *ret_head)
{
	CLEANUP(git_head_release) struct git_head head = { 0 };
	CLEANUP(str_release) struct str line = STR_INIT;
	char hex[GIT_HEX_MAX + 1];
	const char *target;
	int r;

	r = read_line(repo->git_dir, "HEAD", &line);
	if (r < 0)
		return r;
	target = symref_target(&line);
	if (target && strcmp(target, "refs/heads/.invalid") == 0) {
		*ret_head = (struct git_head){ .foreign = true };
		return 0;
	}
	if (!target && !git_hex_valid(str_cstr(&line), line.len))
		return -EBADMSG;
	if (target) {
		head.ref = strdup(target);
		r = git_ref_read(repo, target, hex);
		if (r < 0)
			return r;
		head.commit = r ? strdup(hex) : NULL;
		if (!head.ref || (r && !head.commit))
			return -ENOMEM;
	} else {
		head.commit = str_take(&line);
		if (!head.commit)
			return -ENOMEM;
	}
	*ret_head = head;
	head = (struct git_head){ 0 };
	return 0;
}
