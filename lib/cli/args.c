/* args.c - see cli.h
 *
 * The words of a command line are walked once.  What is an option is decided by
 * the command's table; everything else is an operand, and the table of verbs
 * says how many of them there may be. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/suggest.h"

/* Every command has it. */
static const struct option_spec help_option = {
	.name = "help",
	.letter = 'h',
	.help = "show this help",
};

struct parse {
	const struct command *command;
	char **argv; /* the words, from the first behind the command's name */
	int argc;
	int next; /* the word to be looked at */
	struct args args;
	size_t cap; /* of args.options */
	struct roar_error *err;
};

static const struct option_spec *find_long(const struct command *c,
					   const char *name, size_t len)
{
	for (const struct option_spec *o = c->options; o && o->name; o++)
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return len == 4 && !memcmp(name, "help", 4) ? &help_option : NULL;
}

static const struct option_spec *find_letter(const struct command *c, char l)
{
	for (const struct option_spec *o = c->options; o && o->name; o++)
		if (o->letter == l)
			return o;
	return l == 'h' ? &help_option : NULL;
}

/* ---- sentences ---- */

/* The word as a terminal may show it; 200 bytes are enough to recognise it. */
static const char *shown(struct str *buffer, const char *word, size_t len)
{
	str_clear(buffer);
	quote_printable(buffer, word, len < 200 ? len : 200);
	return str_cstr(buffer);
}

static int fail_unknown_option(struct parse *p, const char *word, size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str typed = STR_INIT;
	struct suggest s;

	str_add(&typed, word + 2, len - 2);
	s = suggest_for(str_cstr(&typed));
	for (const struct option_spec *o = p->command->options; o && o->name;
	     o++)
		if (!(o->flags & OPTION_HIDDEN))
			suggest_offer(&s, o->name);
	if (s.best)
		return error_set(p->err, -EINVAL,
				 "'roar %s' has no option '%s', did you mean "
				 "'--%s'?",
				 p->command->name, shown(&text, word, len),
				 s.best);
	return error_set(p->err, -EINVAL,
			 "'roar %s' has no option '%s' (write '--' before a "
			 "word that only looks like one)",
			 p->command->name, shown(&text, word, len));
}

static int fail_unknown_letter(struct parse *p, char letter)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	return error_set(p->err, -EINVAL,
			 "'roar %s' has no option '-%s' (write '--' before a "
			 "word that only looks like one)",
			 p->command->name, shown(&text, &letter, 1));
}

/* ---- options ---- */

/* Is `word` one of the words of "a|b|c"? */
static bool has_word(const char *words, const char *word, char between)
{
	const char set[] = { between, '\0' };
	size_t n = strlen(word);

	while (*words) {
		size_t len = strcspn(words, set);

		if (len == n && !memcmp(words, word, n))
			return true;
		words += len;
		words += *words == between;
	}
	return false;
}

static int keep_option(struct parse *p, const struct option_spec *spec,
		       const char *value)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct arg_value *kept;

	if (value && spec->values && !has_word(spec->values, value, '|'))
		return error_set(p->err, -EINVAL,
				 "option '--%s' takes one of %s, not '%s'",
				 spec->name, spec->values,
				 shown(&text, value, strlen(value)));
	if (value && !*value)
		return error_set(p->err, -EINVAL,
				 "option '--%s' takes no empty value: --%s %s",
				 spec->name, spec->name, spec->arg);
	kept = VEC_PUSH(p->args.options, p->args.n_options, p->cap);
	if (!kept)
		return error_set(p->err, -ENOMEM, "no memory for the options");
	*kept = (struct arg_value){ .spec = spec, .value = value };
	return 0;
}

/* The value of an option that stands in the next word. */
static int take_value(struct parse *p, const struct option_spec *spec,
		      const char **ret)
{
	if (p->next == p->argc)
		return error_set(p->err, -EINVAL,
				 "option '--%s' needs a value: --%s %s",
				 spec->name, spec->name, spec->arg);
	*ret = p->argv[p->next++];
	return 0;
}

static int parse_long(struct parse *p, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct option_spec *spec;
	const char *value = NULL;
	int r;

	spec = find_long(p->command, word + 2, len - 2);
	if (!spec)
		return fail_unknown_option(p, word, len);
	if ((spec->flags & OPTION_REFUSED) == OPTION_REFUSED)
		return error_set(p->err, -EINVAL,
				 "option '--%s' is not offered: %s", spec->name,
				 spec->help);
	if (word[len] == '=')
		value = word + len + 1;
	if (value && !spec->arg)
		return error_set(p->err, -EINVAL,
				 "option '--%s' takes no value", spec->name);
	if (!value && spec->arg) {
		r = take_value(p, spec, &value);
		if (r < 0)
			return r;
	}
	return keep_option(p, spec, value);
}

/* "-q", "-vv", "-n NAME", "-nNAME", "-qn NAME". */
static int parse_letters(struct parse *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct option_spec *spec;
		const char *value = NULL;
		int r;

		spec = find_letter(p->command, *letters);
		if (!spec)
			return fail_unknown_letter(p, *letters);
		if (spec->arg && letters[1]) {
			return keep_option(p, spec, letters + 1);
		} else if (spec->arg) {
			r = take_value(p, spec, &value);
			if (r < 0)
				return r;
		}
		r = keep_option(p, spec, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_words(struct parse *p)
{
	bool options_end = false;
	int r;

	while (p->next < p->argc) {
		char *word = p->argv[p->next++];

		if (options_end || word[0] != '-' || !word[1]) {
			p->args.operands[p->args.n_operands++] = word;
			options_end |= p->command->stops_at_operand;
			continue;
		}
		if (!strcmp(word, "--")) {
			options_end = true;
			continue;
		}
		r = word[1] == '-' ? parse_long(p, word) :
				     parse_letters(p, word + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- operands ---- */

/* How many operands "KEY VALUE", "[NAME]", "PATTERN..." stands for. */
static void count_operands(const char *operands, int *ret_min, int *ret_max)
{
	*ret_min = 0;
	*ret_max = 0;
	while (operands && *operands) {
		size_t n = strcspn(operands, " ");

		*ret_min += operands[0] != '[';
		if (n > 3 && memmem(operands, n, "...", 3))
			*ret_max = -1;
		else if (*ret_max >= 0)
			++*ret_max;
		operands += n;
		operands += strspn(operands, " ");
	}
}

static int check_count(struct parse *p, const char *what, const char *synopsis,
		       int have, int min, int max)
{
	const char *space = synopsis && *synopsis ? " " : "";

	if (!synopsis)
		synopsis = "";
	if (have < min)
		return error_set(p->err, -EINVAL,
				 "too few words for 'roar %s': it is "
				 "'roar %s%s%s'",
				 what, what, space, synopsis);
	if (max >= 0 && have > max)
		return error_set(p->err, -EINVAL,
				 "too many words for 'roar %s': it is "
				 "'roar %s%s%s'",
				 what, what, space, synopsis);
	return 0;
}

/* "NAME=VALUE"; without a name it is none. */
static bool is_assignment(const char *word)
{
	return *word && strchr(word + 1, '=');
}

/* "set NAME=VALUE" where it takes two words: shows them apart. */
static int refuse_assignment(struct parse *p, const char *what)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(str_release) struct str value = STR_INIT;
	const char *word = p->args.operands[1];
	size_t n = strcspn(word, "=");

	shown(&name, word, n);
	quote_shell(&value, word + n + 1);
	return error_set(p->err, -EINVAL,
			 "'roar %s' takes name and value as two words: write "
			 "%s %s",
			 what, str_cstr(&name),
			 value.len > 200 ? "VALUE" : str_cstr(&value));
}

/* An option that does nothing for this verb would be believed in. */
static int check_verb_options(struct parse *p, const struct verb_spec *v)
{
	for (size_t i = 0; i < p->args.n_options; i++) {
		const char *name = p->args.options[i].spec->name;

		if (!v->options || !has_word(v->options, name, ' '))
			return error_set(p->err, -EINVAL,
					 "'roar %s %s' takes no option '--%s'",
					 p->command->name, v->name, name);
	}
	return 0;
}

static int check_verb(struct parse *p)
{
	CLEANUP(str_release) struct str what = STR_INIT;
	const char *word = p->args.operands[0];
	struct suggest s = suggest_for(word);
	int min;
	int max;
	int r;

	for (const struct verb_spec *v = p->command->verbs; v->name; v++) {
		suggest_offer(&s, v->name);
		if (strcmp(v->name, word) != 0)
			continue;
		count_operands(v->operands, &min, &max);
		str_addf(&what, "%s %s", p->command->name, v->name);
		if (p->args.n_operands == 2 && min == 2 &&
		    is_assignment(p->args.operands[1]))
			return refuse_assignment(p, str_cstr(&what));
		r = check_count(p, str_cstr(&what), v->operands,
				p->args.n_operands - 1, min, max);
		return r < 0 ? r : check_verb_options(p, v);
	}
	shown(&what, word, strlen(word));
	if (s.best)
		return error_set(p->err, -EINVAL,
				 "'roar %s' cannot '%s', did you mean '%s'?",
				 p->command->name, str_cstr(&what), s.best);
	return error_set(p->err, -EINVAL, "'roar %s' cannot '%s'",
			 p->command->name, str_cstr(&what));
}

static int check_operands(struct parse *p)
{
	const struct command *c = p->command;

	/* Who asks for help need not know how the rest is written. */
	if (args_has(&p->args, "help"))
		return 0;
	if (c->verbs && p->args.n_operands)
		return check_verb(p);
	return check_count(p, c->name, c->synopsis, p->args.n_operands,
			   c->min_operands, c->max_operands);
}

/* ---- what cli.h promises ---- */

int args_parse(const struct command *command, int argc, char **argv,
	       struct args *ret, struct roar_error *err)
{
	struct parse p = {
		.command = command,
		.argv = argv + 1,
		.argc = argc > 0 ? argc - 1 : 0,
		.args = { .command = command },
		.err = err,
	};
	int r;

	p.args.operands = calloc((size_t)p.argc + 1, sizeof(char *));
	if (!p.args.operands)
		return error_set(err, -ENOMEM, "no memory for the arguments");
	r = parse_words(&p);
	if (r == 0)
		r = check_operands(&p);
	if (r < 0) {
		args_release(&p.args);
		return r;
	}
	*ret = p.args;
	return 0;
}

void args_release(struct args *args)
{
	free(args->options);
	free(args->operands);
	*args = (struct args){ 0 };
}

bool args_has(const struct args *args, const char *name)
{
	return args_count(args, name) > 0;
}

int args_count(const struct args *args, const char *name)
{
	int n = 0;

	for (size_t i = 0; i < args->n_options; i++)
		n += !strcmp(args->options[i].spec->name, name);
	return n;
}

const char *args_get(const struct args *args, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < args->n_options; i++)
		if (!strcmp(args->options[i].spec->name, name))
			value = args->options[i].value;
	return value;
}
