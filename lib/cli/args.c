/* args.c - see cli.h
 *
 * One pass over the arguments.  The command's table says which are options and which
 * take a value; everything else is an operand, and the table of verbs says how many
 * of them there may be. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/help.h"
#include "cli/suggest.h"

struct parse {
	const struct command *command;
	struct str call; /* what the user typed for it, "roar run" */
	char **argv; /* the arguments after the command's name */
	int argc;
	int next; /* index of the next one */
	bool stop; /* --help or --version was met */
	struct args args;
	size_t cap; /* of args.options */
	struct roar_error *err;
};

/* By its long name, or by its letter where `name` is NULL. */
static const struct option_spec *
find_in(const struct option_spec *o, const char *name, size_t len, char letter)
{
	for (; o && o->name; o++)
		if (name ? strlen(o->name) == len &&
				    !memcmp(o->name, name, len) :
			   o->letter == letter)
			return o;
	return NULL;
}

static const struct option_spec *
find_option(const struct command *c, const char *name, size_t len, char letter)
{
	const struct option_spec *o = find_in(c->options, name, len, letter);

	return o ? o : find_in(help_common_options(c), name, len, letter);
}

/* ---- errors ---- */

/* The argument with control characters escaped; 200 bytes identify it. */
static const char *shown(struct str *buffer, const char *word, size_t len)
{
	str_clear(buffer);
	quote_printable(buffer, word, len < 200 ? len : 200);
	return str_cstr(buffer);
}

/* `word` begins with its dashes. */
static int fail_unknown_option(struct parse *p, const char *word, size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str typed = STR_INIT;
	const struct option_spec *o = p->command->options;
	struct suggest s;

	str_add(&typed, word + 1, len - 1);
	s = suggest_for(str_cstr(&typed) + 1);
	for (; typed.data[0] == '-' && o && o->name; o++)
		if (!(o->flags & OPTION_HIDDEN))
			suggest_offer(&s, o->name);
	if (s.best)
		return error_set(p->err, -EINVAL,
				 "unknown option '%s', did you mean '--%s'?",
				 shown(&text, word, len), s.best);
	return error_set(p->err, -EINVAL, "unknown option '%s'%s",
			 shown(&text, word, len),
			 p->command->max_operands || p->command->verbs ?
				 " (put '--' before an argument that starts "
				 "with a dash)" :
				 "");
}

/* ---- options ---- */

/* Is `word` one of "a|b|c"? */
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

static int check_value(struct parse *p, const struct option_spec *spec,
		       const char *value)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int64_t n;

	if (spec->values && !has_word(spec->values, value, '|'))
		return error_set(p->err, -EINVAL,
				 "option '--%s' takes one of %s, not '%s'",
				 spec->name, spec->values,
				 shown(&text, value, strlen(value)));
	if (!*value)
		return error_set(p->err, -EINVAL,
				 "option '--%s' needs a value: --%s %s",
				 spec->name, spec->name, spec->arg);
	if (spec->max && number_parse(value, spec->min, spec->max, &n) < 0)
		return error_set(p->err, -EINVAL,
				 "option '--%s' takes a number from %lld to "
				 "%lld, not '%s'",
				 spec->name, (long long)spec->min,
				 (long long)spec->max,
				 shown(&text, value, strlen(value)));
	return 0;
}

static int keep_option(struct parse *p, const struct option_spec *spec,
		       const char *value)
{
	struct arg_value *kept;
	int r = value ? check_value(p, spec, value) : 0;

	if (r < 0)
		return r;
	kept = VEC_PUSH(p->args.options, p->args.n_options, p->cap);
	if (!kept)
		return error_set(p->err, -ENOMEM, "out of memory");
	*kept = (struct arg_value){ .spec = spec, .value = value };
	p->stop = !find_in(p->command->options, spec->name, strlen(spec->name),
			   0);
	return 0;
}

/* The value of an option, from the next argument. */
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

	spec = find_option(p->command, word + 2, len - 2, 0);
	if (!spec)
		return fail_unknown_option(p, word, len);
	if ((spec->flags & OPTION_REFUSED) == OPTION_REFUSED)
		return error_set(p->err, -EINVAL,
				 "option '--%s' is not supported: %s",
				 spec->name, spec->help);
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

		spec = find_option(p->command, NULL, 0, *letters);
		if (!spec)
			return fail_unknown_option(
				p, (const char[]){ '-', *letters }, 2);
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

	while (p->next < p->argc && !p->stop) {
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

/* `call` and `synopsis` say how it is used; `have` of the last operands count. */
static int check_count(struct parse *p, const char *call, const char *synopsis,
		       int have, int min, int max)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *extra;

	if (!synopsis)
		synopsis = "";
	if (have < min)
		return error_set(p->err, -EINVAL,
				 "missing argument: usage is '%s%s%s'", call,
				 *synopsis ? " " : "", synopsis);
	if (max < 0 || have <= max)
		return 0;
	extra = p->args.operands[p->args.n_operands - have + max];
	return error_set(p->err, -EINVAL,
			 "unexpected argument '%s': usage is '%s%s%s'",
			 shown(&text, extra, strlen(extra)), call,
			 *synopsis ? " " : "", synopsis);
}

/* "set NAME=VALUE" where it takes two arguments: shows them apart. */
static int refuse_assignment(struct parse *p, const char *call)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(str_release) struct str value = STR_INIT;
	const char *word = p->args.operands[1];
	size_t n = strcspn(word, "=");

	shown(&name, word, n);
	quote_shell(&value, word + n + 1);
	return error_set(p->err, -EINVAL,
			 "'%s' takes name and value as two arguments: write "
			 "%s %s",
			 call, str_cstr(&name),
			 value.len > 200 ? "VALUE" : str_cstr(&value));
}

static int check_verb(struct parse *p, const struct verb_spec *v)
{
	const char *call;
	int min;
	int max;
	int r;

	str_addf(&p->call, " %s", v->name);
	count_operands(v->operands, &min, &max);
	/* "=VALUE" has no name. */
	if (p->args.n_operands == 2 && min == 2 && *p->args.operands[1] &&
	    strchr(p->args.operands[1] + 1, '='))
		return refuse_assignment(p, str_cstr(&p->call));
	call = str_cstr(&p->call);
	r = check_count(p, call, v->operands, p->args.n_operands - 1, min, max);
	if (r < 0)
		return r;
	/* An option without effect is refused, not ignored. */
	for (size_t i = 0; i < p->args.n_options; i++) {
		const char *name = p->args.options[i].spec->name;

		if (!v->options || !has_word(v->options, name, ' '))
			return error_set(p->err, -EINVAL,
					 "'%s' takes no option '--%s'", call,
					 name);
	}
	return 0;
}

static int find_verb(struct parse *p)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str known = STR_INIT;
	const char *word = p->args.operands[0];
	struct suggest s = suggest_for(word);

	for (const struct verb_spec *v = p->command->verbs; v->name; v++) {
		if (!strcmp(v->name, word))
			return check_verb(p, v);
		suggest_offer(&s, v->name);
		str_addf(&known, "%s%s", known.len ? ", " : "", v->name);
	}
	shown(&text, word, strlen(word));
	if (s.best)
		return error_set(p->err, -EINVAL,
				 "unknown action '%s' of '%s', did you mean "
				 "'%s'?",
				 str_cstr(&text), str_cstr(&p->call), s.best);
	return error_set(p->err, -EINVAL,
			 "unknown action '%s' of '%s': the actions are %s",
			 str_cstr(&text), str_cstr(&p->call), str_cstr(&known));
}

static int check_operands(struct parse *p)
{
	const struct command *c = p->command;

	if (c->verbs && p->args.n_operands)
		return find_verb(p);
	return check_count(p, str_cstr(&p->call), c->synopsis,
			   p->args.n_operands, c->min_operands,
			   c->max_operands);
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
		return error_set(err, -ENOMEM, "out of memory");
	command_add_call(&p.call, command);
	r = parse_words(&p);
	if (r == 0 && !p.stop)
		r = check_operands(&p);
	str_release(&p.call);
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

int64_t args_number(const struct args *args, const char *name, int64_t fallback)
{
	const char *value = args_get(args, name);

	/* The parser has checked the bounds of the table. */
	return value ? strtoll(value, NULL, 10) : fallback;
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
