/* self_report.c - see self_report.h */
#include "event/self_report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "event/event.h"

/* The fields of each word, by letter: text, absolute path (p, and q for path2), number,
 * stamp, flags. */
static const struct {
	const char *word;
	const char *fields;
	int64_t max; /* of a number */
} words[] = {
	[SELF_REPORT_NAME] = { "name", "t", 0 },
	[SELF_REPORT_ARG] = { "arg", "t", 0 },
	[SELF_REPORT_PID] = { "pid", "n", INT32_MAX },
	[SELF_REPORT_STARTED] = { "started", "n", INT64_MAX },
	[SELF_REPORT_ENDED] = { "ended", "n", INT64_MAX },
	[SELF_REPORT_EXIT] = { "exit", "n", 255 },
	[SELF_REPORT_LOST] = { "lost", "n", INT32_MAX },
	[SELF_REPORT_GAP] = { "gap", "t", 0 },
	[SELF_REPORT_OPEN] = { "open", "fsnp", INT64_MAX },
	[SELF_REPORT_RENAME] = { "rename", "pq", 0 },
	[SELF_REPORT_LINK] = { "link", "pq", 0 },
	[SELF_REPORT_SYMLINK] = { "symlink", "tq", 0 },
	[SELF_REPORT_REMOVE] = { "remove", "sp", 0 },
};

struct self_report self_report_of(const char *text, size_t len)
{
	return (struct self_report){ .at = text, .end = text + len };
}

/* NULL when no NUL ends it. */
static const char *take_string(struct self_report *r)
{
	size_t left = (size_t)(r->end - r->at);
	const char *text = r->at;
	const char *nul = left ? memchr(text, '\0', left) : NULL;

	if (!nul || nul - text > SELF_REPORT_PATH_MAX)
		return NULL;
	r->at = nul + 1;
	return text;
}

static bool parse_flags(const char *text, unsigned *ret)
{
	static const char letters[] = "rwct";
	static const unsigned flags[] = { EVENT_READ, EVENT_WRITE, EVENT_CREATE,
					  EVENT_TRUNC };

	for (*ret = 0; *text; text++) {
		const char *found = strchr(letters, *text);

		if (!found)
			return false;
		*ret |= flags[found - letters];
	}
	return *ret & (EVENT_READ | EVENT_WRITE);
}

static bool parse_stamp(const char *text, struct self_report_item *item)
{
	struct stamp *s = &item->stamp;
	uint64_t fields[6];

	if (!strcmp(text, "-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (i && *text++ != ':')
			return false;
		if (number_take(&text, i ? INT64_MAX : UINT32_MAX, &fields[i]) <
		    0)
			return false;
	}
	item->mode = (uint32_t)fields[0];
	*s = (struct stamp){ .dev = fields[1],
			     .ino = fields[2],
			     .size = fields[3],
			     .mtime_ns = (int64_t)fields[4],
			     .ctime_ns = (int64_t)fields[5] };
	return !*text && item->mode && s->ino;
}

static bool take_field(struct self_report *r, char kind,
		       struct self_report_item *item)
{
	const char *text = take_string(r);

	if (!text)
		return false;
	switch (kind) {
	case 'n':
		return number_parse(text, 0, words[item->kind].max,
				    &item->number) == 0;
	case 'f':
		return parse_flags(text, &item->flags);
	case 's':
		return parse_stamp(text, item);
	case 'q':
		item->path2 = text;
		return *text == '/';
	default:
		item->path = text;
		return kind == 't' || *text == '/';
	}
}

static bool take_version(struct self_report *r)
{
	const char *text = take_string(r);

	r->version = text && !strcmp(text, "roar-files 1");
	return r->version;
}

int self_report_next(struct self_report *r, struct self_report_item *ret)
{
	struct self_report_item item = { 0 };
	const char *word;

	if (!r->version && !take_version(r))
		return -EBADMSG;
	if (r->at == r->end)
		return 0;
	word = take_string(r);
	for (size_t i = SELF_REPORT_NAME; word && i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i].word))
			item.kind = (enum self_report_kind)i;
	if (!item.kind)
		return -EBADMSG;
	for (const char *f = words[item.kind].fields; *f; f++)
		if (!take_field(r, *f, &item))
			return -EBADMSG;
	*ret = item;
	return 1;
}
