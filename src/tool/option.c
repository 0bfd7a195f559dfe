/* SPDX-License-Identifier: Apache-2.0
 * option.c - reads the options of a command by its table, and explains wrong ones.
 *
 * getopt_long() parses them. Its own messages differ between C libraries and do not mention --help,
 * so they are off and replaced. Rejected: a parser of our own, because people are used to
 * permutation, abbreviations and clusters of letters.
 */
#include "tool/option.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/str.h"
#include "proto/text_lexer.h"
#include "tool/tool.h"

#define NAMES_BYTES 2048

/* A command's options as getopt_long() takes them. */
struct getopt_table {
	struct option options[ORMA_TOOL_OPTIONS_MAX + 2]; /* --help, and the end */
	char letters[3 * ORMA_TOOL_OPTIONS_MAX + 4];      /* begins with a colon */
};

/* Its value can be left out; then it follows "=" and never a space. */
static bool is_optional(const struct orma_tool_option *option)
{
	return option->value && option->value[0] == '[';
}

static void make_getopt_table(const struct orma_tool_command *command, struct getopt_table *ret)
{
	char *letter = ret->letters;
	size_t count = 0;

	*letter++ = ':';
	for (const struct orma_tool_option *option = command->options; option->name; option++) {
		ORMA_ASSERT(count < ORMA_TOOL_OPTIONS_MAX);
		ret->options[count++] = (struct option){option->name,
							!option->value        ? no_argument
							: is_optional(option) ? optional_argument
									      : required_argument,
							NULL, option->id};
		if (option->id >= ORMA_OPTION_VERSION)
			continue;
		*letter++ = (char)option->id;
		if (option->value)
			*letter++ = ':';
		if (is_optional(option))
			*letter++ = ':';
	}
	ret->options[count++] = (struct option){"help", no_argument, NULL, 'h'};
	ret->options[count] = (struct option){NULL, 0, NULL, 0};
	*letter++ = 'h';
	*letter = '\0';
}

const char *orma_tool_closest(const char *wrong, const char *const *names, size_t count)
{
	char list[NAMES_BYTES] = "";
	size_t used = 0, listed = 0;

	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(names[i]) + 1;
		if (size > sizeof(list) - used)
			break;
		memcpy(list + used, names[i], size);
		used += size;
		listed++;
	}
	const char *closest = orma_proto_closest_name(orma_base_str(wrong), list, listed);
	for (size_t i = 0; closest && i < count; i++)
		if (strcmp(names[i], closest) == 0)
			return names[i];
	return NULL;
}

static void explain_unknown(const char *text, const struct option *options)
{
	const char *names[ORMA_TOOL_OPTIONS_MAX + 1];
	size_t count = 0, meant = 0;
	size_t size = strcspn(text + 2, "=");

	for (; options[count].name; count++) {
		names[count] = options[count].name;
		meant += strncmp(names[count], text + 2, size) == 0;
	}
	if (meant > 1) {
		orma_tool_usage_error("%.*s begins %zu options; write more of it", (int)size + 2,
				      text, meant);
		return;
	}
	char wrong[64] = "";
	if (size < sizeof(wrong))
		memcpy(wrong, text + 2, size);
	const char *closest = orma_tool_closest(wrong, names, count);
	if (closest)
		orma_tool_usage_error("there is no option %.*s; did you mean --%s?", (int)size + 2,
				      text, closest);
	else
		orma_tool_usage_error("there is no option %.*s", (int)size + 2, text);
}

/* Explains what getopt_long() did not take; `result` is what it returned. */
static void explain_mistake(int result, int argc, char **argv, const struct option *options)
{
	/* getopt_long() has stepped over a long option; a letter may be inside a cluster. */
	const char *text = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	bool is_long = strncmp(text, "--", 2) == 0 && text[2];
	char letter[3] = {'-', (char)optopt, '\0'};

	if (result == ':')
		orma_tool_usage_error("%s needs a value", is_long ? text : letter);
	else if (is_long && optopt == 0)
		explain_unknown(text, options);
	else if (is_long)
		orma_tool_usage_error("%.*s takes no value", (int)strcspn(text, "="), text);
	else if (isprint(optopt))
		orma_tool_usage_error("there is no option %s", letter);
	else
		orma_tool_usage_error("there is no such option");
}

static void print_version(const struct orma_tool_command *command)
{
	char title[64] = "orma";

	if (command->summary)
		snprintf(title, sizeof(title), "orma %s", command->name);
	orma_tool_print_version(title);
}

int orma_tool_read_options(const struct orma_tool_command *command, int argc, char **argv,
			   orma_tool_option_fn *take, void *ctx)
{
	struct getopt_table table;

	make_getopt_table(command, &table);
	opterr = 0;
	for (int id; (id = getopt_long(argc, argv, table.letters, table.options, NULL)) != -1;) {
		int status = -1;

		if (id == 'h') {
			orma_tool_print_help(command);
			return ORMA_EXIT_OK;
		}
		if (id == ORMA_OPTION_VERSION) {
			print_version(command);
			return ORMA_EXIT_OK;
		}
		if (id != '?' && id != ':') {
			status = take(ctx, id, optarg);
		} else if (!command->skips_unknown) {
			explain_mistake(id, argc, argv, table.options);
			status = ORMA_EXIT_USAGE;
		}
		if (status >= 0)
			return status;
	}
	return -1;
}

int orma_tool_count_behind_dashes(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return argc - i - 1;
	return -1;
}
