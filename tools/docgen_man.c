/* docgen_man.c - pages in the man(7) language. */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "commands.h"
#include "docgen.h"
#include "project/config_file.h"

/* The day the pages were last revised; a date of the build would make two
 * builds of one source differ. */
#define PAGE_DATE "2026-11-17"

/* ---- text ---- */

/* Characters that mean something to roff; a line must not start with '.' or
 * "'". */
static void add_char(struct str *out, char c)
{
	bool line_start = !out->len || out->data[out->len - 1] == '\n';

	if (line_start && (c == '.' || c == '\''))
		str_adds(out, "\\&");
	if (c == '\\')
		str_adds(out, "\\e");
	else if (c == '-')
		str_adds(out, "\\-");
	else if (c == '\'')
		str_adds(out, "\\(aq");
	else if (c == '~')
		str_adds(out, "\\(ti");
	else if (c == '^')
		str_adds(out, "\\(ha");
	else
		str_addc(out, c);
}

static void add_text(struct str *out, const char *text)
{
	for (; *text; text++)
		add_char(out, *text);
}

/* At a blank line, or at the newline that ends the text. */
static bool paragraph_ends(const char *text)
{
	return !*text || !strcmp(text, "\n") || !strncmp(text, "\n\n", 2);
}

/* Two blanks end a sentence; the next one starts a line, as roff likes it. */
static const char *add_paragraph(struct str *out, const char *text)
{
	while (!paragraph_ends(text)) {
		if (text[0] == ' ' && text[1] == ' ') {
			str_addc(out, '\n');
			text += strspn(text, " ");
		} else {
			add_char(out, *text++);
		}
	}
	str_addc(out, '\n');
	return text;
}

/* A paragraph whose lines start with a blank keeps its lines. */
static const char *add_lines(struct str *out, const char *text)
{
	str_adds(out, ".nf\n");
	while (!paragraph_ends(text))
		add_char(out, *text++);
	str_adds(out, "\n.fi\n");
	return text;
}

static void add_paragraphs(struct str *out, const char *text)
{
	bool first = true;

	while (*text) {
		if (!first)
			str_adds(out, ".PP\n");
		text = *text == ' ' ? add_lines(out, text) :
				      add_paragraph(out, text);
		text += strspn(text, "\n");
		first = false;
	}
}

/* A macro whose one argument is the text, in quotes. */
static void add_macro(struct str *out, const char *macro, const char *text)
{
	str_addf(out, ".%s \"", macro);
	for (; *text; text++) {
		if (*text == '"')
			str_adds(out, "\\(dq");
		else
			add_char(out, *text);
	}
	str_adds(out, "\"\n");
}

static void add_item(struct str *out, const char *tag, const char *text)
{
	str_adds(out, ".TP\n");
	add_macro(out, "B", tag);
	add_paragraphs(out, text);
}

/* Servers are in section 8. */
static void add_title(struct str *out, const char *name)
{
	str_adds(out, ".\\\" generated from the tables of roar\n.TH ");
	for (; *name; name++)
		add_char(out, (char)toupper((unsigned char)*name));
	str_addf(out, " %d \"%s\" \"roar %s\" \"roar manual\"\n",
		 program_selected()->single ? 8 : 1, PAGE_DATE,
		 program_selected()->version);
}

/* ---- the page of a command ---- */

static void add_options(struct str *out, const struct option_spec *first)
{
	for (const struct option_spec *o = option_listed(first); o;
	     o = option_listed(o + 1)) {
		CLEANUP(str_release) struct str tag = STR_INIT;
		CLEANUP(str_release) struct str text = STR_INIT;

		if (o->letter)
			str_addf(&tag, "-%c, ", o->letter);
		str_addf(&tag, "--%s", o->name);
		if (o->arg)
			str_addf(&tag, " %s", o->arg);
		help_option_text(&text, o);
		str_addc(&text, '.');
		add_item(out, str_cstr(&tag), str_cstr(&text));
	}
}

static void add_all_options(struct str *out, const struct command *c)
{
	add_options(out, c->options);
	add_options(out, help_common_options(c));
}

static void add_verbs(struct str *out, const struct command *c)
{
	if (!c->verbs)
		return;
	str_adds(out, ".SH ACTIONS\n");
	for (const struct verb_spec *v = c->verbs; v->name; v++) {
		CLEANUP(str_release) struct str tag = STR_INIT;
		CLEANUP(str_release) struct str text = STR_INIT;

		str_addf(&tag, "%s%s%s", v->name,
			 v->operands && *v->operands ? " " : "",
			 v->operands ? v->operands : "");
		str_addf(&text, "%s.", v->help);
		add_item(out, str_cstr(&tag), str_cstr(&text));
	}
}

static void add_settings(struct str *out)
{
	for (const struct config_key *k = config_keys; k->name; k++) {
		CLEANUP(str_release) struct str tag = STR_INIT;
		CLEANUP(str_release) struct str text = STR_INIT;

		str_addf(&tag, "%s = %s", k->name, k->fallback);
		str_adds(&text, k->help);
		if (k->values)
			str_addf(&text, " (%s)", k->values);
		str_addc(&text, '.');
		add_item(out, str_cstr(&tag), str_cstr(&text));
	}
}

static void add_examples(struct str *out, const struct command *c)
{
	if (!c->examples || !c->examples->command)
		return;
	str_adds(out, ".SH EXAMPLES\n");
	for (const struct example *e = c->examples; e->command; e++) {
		str_adds(out, ".TP\n");
		add_macro(out, "B", e->command);
		if (e->comment)
			add_paragraphs(out, e->comment);
	}
}

void man_command(struct str *out, const struct command *c)
{
	CLEANUP(str_release) struct str name = STR_INIT;

	str_addf(&name, "roar-%s", c->name);
	add_title(out, str_cstr(&name));
	str_adds(out, ".SH NAME\n");
	add_text(out, str_cstr(&name));
	str_adds(out, " \\- ");
	add_text(out, c->summary);
	str_addf(out, "\n.SH SYNOPSIS\n.B roar %s\n", c->name);
	if (c->synopsis && *c->synopsis) {
		add_text(out, c->synopsis);
		str_addc(out, '\n');
	}
	str_adds(out, ".SH DESCRIPTION\n");
	add_paragraphs(out, c->about ? c->about : c->summary);
	add_verbs(out, c);
	if (c == &cmd_config) {
		str_adds(out, ".SH SETTINGS\nWith their defaults:\n");
		add_settings(out);
	}
	str_adds(out, ".SH OPTIONS\n");
	add_all_options(out, c);
	str_adds(out, ".SH EXIT STATUS\n");
	add_paragraphs(out,
		       c->exit_status ?
			       c->exit_status :
			       "0 on success, 1 on failure, 2 on wrong usage.");
	add_examples(out, c);
	str_adds(out, ".SH SEE ALSO\n.BR roar (1)");
	if (c->see_also) {
		str_adds(out, ",\n");
		add_text(out, c->see_also);
	}
	str_addc(out, '\n');
}

/* ---- the page of a program ---- */

static void add_commands(struct str *out)
{
	const char *group = "";

	for (size_t i = 0; roar_program.commands[i]; i++) {
		const struct command *c = roar_program.commands[i];

		if (strcmp(c->group, group) != 0) {
			group = c->group;
			add_macro(out, "SS", group);
		}
		str_adds(out, ".TP\n.BR roar\\-");
		add_text(out, c->name);
		str_adds(out, " (1)\n");
		add_text(out, c->summary);
		str_addc(out, '\n');
	}
}

static bool is_line(const char *line, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(line, word, len);
}

void man_story(struct str *out, const char *story)
{
	add_title(out, program_selected()->name);
	while (*story) {
		size_t n = strcspn(story, "\n");

		if (is_line(story, n, "@COMMANDS@")) {
			add_commands(out);
		} else if (is_line(story, n, "@OPTIONS@")) {
			add_all_options(out, program_selected()->single);
		} else {
			str_add(out, story, n);
			str_addc(out, '\n');
		}
		story += n;
		story += *story == '\n';
	}
}
