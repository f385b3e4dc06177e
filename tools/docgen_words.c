/* docgen_words.c - what the completions of all shells are made of; see docgen.h. */
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "cli/cli.h"
#include "commands.h"
#include "docgen.h"
#include "project/config_file.h"

void add_command_names(struct str *out)
{
	for (size_t i = 0; roar_program.commands[i]; i++)
		str_addf(out, "%s%s", i ? " " : "",
			 roar_program.commands[i]->name);
}

void add_key_names(struct str *out)
{
	for (const struct config_key *k = config_keys; k->name; k++)
		str_addf(out, "%s%s", k == config_keys ? "" : " ", k->name);
}

void add_key_values(struct str *out, const struct config_key *k)
{
	if (k->type == CONFIG_BOOL)
		str_adds(out, "true false");
	else if (k->values)
		add_words(out, k->values);
}

const char *option_offers(const struct option_spec *o)
{
	static const struct {
		const char *arg;
		const char *offers;
	} kinds[] = {
		{ "DIR", "folder" },
		{ "FILE", "file" },
		{ "PATH", "file" },
		{ "REF", "target" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(o->arg, kinds[i].arg))
			return kinds[i].offers;
	return "nothing";
}

void add_identifier(struct str *out, const char *name)
{
	for (; *name; name++)
		str_addc(out, *name == '-' ? '_' : *name);
}
