/* object_op.c - the line of one operation on an object; see object_log.h */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/line_field.h"
#include "event/object_log.h"

static const char *const kind_names[OBJECT_OP_KIND_END] = {
	[OBJECT_OTHER] = "other",
	[OBJECT_GET] = "get",
	[OBJECT_HEAD] = "head",
	[OBJECT_PUT] = "put",
	[OBJECT_COPY] = "copy",
	[OBJECT_DELETE] = "delete",
	[OBJECT_CREATE_UPLOAD] = "create-upload",
	[OBJECT_UPLOAD_PART] = "upload-part",
	[OBJECT_UPLOAD_PART_COPY] = "upload-part-copy",
	[OBJECT_COMPLETE_UPLOAD] = "complete-upload",
	[OBJECT_ABORT_UPLOAD] = "abort-upload",
	[OBJECT_LIST] = "list",
};

static const struct {
	unsigned flag;
	const char *name;
} flag_names[] = {
	{ OBJECT_BEGUN, "begun" },
	{ OBJECT_UNFINISHED, "unfinished" },
	{ OBJECT_ABORTED, "aborted" },
};

const char *object_op_name(enum object_op_kind kind)
{
	return kind < OBJECT_OP_KIND_END ? kind_names[kind] : "?";
}

/* ---- writing ---- */

static void add_name(struct str *line, const char *name)
{
	str_addc(line, '\t');
	if (!*name)
		str_addc(line, '-');
	else if (strcmp(name, "-") == 0)
		str_adds(line, "%2D");
	else
		line_field_add_name(line, name);
}

static void add_number(struct str *line, int64_t value)
{
	if (value < 0)
		str_adds(line, "\t-");
	else
		str_addf(line, "\t%lld", (long long)value);
}

static void add_digest(struct str *line, bool has, const uint8_t *digest)
{
	str_addc(line, '\t');
	if (!has)
		str_addc(line, '-');
	for (int i = 0; has && i < OBJECT_DIGEST_LEN; i++)
		str_addf(line, "%02x", digest[i]);
}

static void add_range(struct str *line, const struct object_op *op)
{
	if (op->whole)
		str_adds(line, "\twhole");
	else if (op->last < 0)
		str_adds(line, "\t-");
	else
		str_addf(line, "\t%lld-%lld", (long long)op->first,
			 (long long)op->last);
}

static void add_flags(struct str *line, unsigned flags)
{
	char before = '\t';

	for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		str_addc(line, before);
		str_adds(line, flag_names[i].name);
		before = ',';
	}
	if (before == '\t')
		str_adds(line, "\t-");
}

void object_op_format(const struct object_op *op, struct str *line)
{
	str_adds(line, object_op_name(op->kind));
	add_number(line, op->pid);
	add_number(line, op->start_ns);
	add_number(line, op->end_ns);
	add_number(line, op->status);
	add_name(line, op->endpoint);
	add_name(line, op->bucket);
	add_name(line, op->key);
	add_name(line, op->version);
	add_name(line, op->etag);
	add_number(line, op->size);
	add_range(line, op);
	add_digest(line, op->has_blake3, op->blake3);
	add_digest(line, op->has_sha256, op->sha256);
	add_flags(line, op->flags);
	add_name(line, op->copy_source);
	add_name(line, op->upload_id);
	add_number(line, op->part);
	str_addc(line, '\n');
}

/* ---- reading ---- */

enum field {
	FIELD_OP,
	FIELD_PID,
	FIELD_START,
	FIELD_END,
	FIELD_STATUS,
	FIELD_ENDPOINT,
	FIELD_BUCKET,
	FIELD_KEY,
	FIELD_VERSION,
	FIELD_ETAG,
	FIELD_SIZE,
	FIELD_RANGE,
	FIELD_BLAKE3,
	FIELD_SHA256,
	FIELD_FLAGS,
	FIELD_COPY_SOURCE,
	FIELD_UPLOAD_ID,
	FIELD_PART,
	N_FIELDS,
};

static bool is_absent(const char *text)
{
	return strcmp(text, "-") == 0;
}

static bool parse_kind(const char *text, enum object_op_kind *ret)
{
	for (int i = 0; i < OBJECT_OP_KIND_END; i++)
		if (strcmp(text, kind_names[i]) == 0) {
			*ret = (enum object_op_kind)i;
			return true;
		}
	return false;
}

static bool parse_name(char *text, const char **ret)
{
	*ret = is_absent(text) ? "" : text;
	return is_absent(text) || (*text && line_field_unescape(text));
}

/* At most `max`; -1 when it is absent. */
static bool parse_number(const char *text, int64_t max, int64_t *ret)
{
	*ret = -1;
	return is_absent(text) || (line_field_number(text, ret) && *ret <= max);
}

static bool parse_int(const char *text, int absent, int *ret)
{
	int64_t value;

	if (!parse_number(text, INT32_MAX, &value))
		return false;
	*ret = value < 0 ? absent : (int)value;
	return true;
}

static bool parse_digest(const char *text, bool *ret_has, uint8_t *ret)
{
	*ret_has = !is_absent(text);
	if (!*ret_has)
		return true;
	if (strlen(text) != 2 * OBJECT_DIGEST_LEN)
		return false;
	for (int i = 0; i < OBJECT_DIGEST_LEN; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool parse_range(char *text, struct object_op *op)
{
	char *first;

	op->whole = strcmp(text, "whole") == 0;
	op->first = 0;
	op->last = -1;
	if (op->whole || is_absent(text))
		return true;
	first = line_field_cut(&text, '-');
	return first && line_field_number(first, &op->first) &&
	       line_field_number(text, &op->last) && op->first <= op->last;
}

static bool parse_flag(const char *text, unsigned *flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (strcmp(text, flag_names[i].name) == 0) {
			*flags |= flag_names[i].flag;
			return true;
		}
	return false;
}

static bool parse_flags(char *text, unsigned *ret)
{
	char *flag;

	*ret = 0;
	if (is_absent(text))
		return true;
	while ((flag = line_field_cut(&text, ',')))
		if (!parse_flag(flag, ret))
			return false;
	return parse_flag(text, ret);
}

static bool split(char *line, char *fields[N_FIELDS])
{
	for (int i = 0; i < N_FIELDS - 1; i++) {
		fields[i] = line_field_cut(&line, '\t');
		if (!fields[i])
			return false;
	}
	fields[N_FIELDS - 1] = line;
	return !strchr(line, '\t');
}

bool object_op_parse(char *line, struct object_op *ret)
{
	char *f[N_FIELDS];

	*ret = OBJECT_OP_INIT;
	return split(line, f) && parse_kind(f[FIELD_OP], &ret->kind) &&
	       parse_int(f[FIELD_PID], 0, &ret->pid) &&
	       parse_number(f[FIELD_START], INT64_MAX, &ret->start_ns) &&
	       parse_number(f[FIELD_END], INT64_MAX, &ret->end_ns) &&
	       parse_int(f[FIELD_STATUS], 0, &ret->status) &&
	       parse_name(f[FIELD_ENDPOINT], &ret->endpoint) &&
	       parse_name(f[FIELD_BUCKET], &ret->bucket) &&
	       parse_name(f[FIELD_KEY], &ret->key) &&
	       parse_name(f[FIELD_VERSION], &ret->version) &&
	       parse_name(f[FIELD_ETAG], &ret->etag) &&
	       parse_number(f[FIELD_SIZE], INT64_MAX, &ret->size) &&
	       parse_range(f[FIELD_RANGE], ret) &&
	       parse_digest(f[FIELD_BLAKE3], &ret->has_blake3, ret->blake3) &&
	       parse_digest(f[FIELD_SHA256], &ret->has_sha256, ret->sha256) &&
	       parse_flags(f[FIELD_FLAGS], &ret->flags) &&
	       parse_name(f[FIELD_COPY_SOURCE], &ret->copy_source) &&
	       parse_name(f[FIELD_UPLOAD_ID], &ret->upload_id) &&
	       parse_number(f[FIELD_PART], INT32_MAX, &ret->part);
}
