/* SPDX-License-Identifier: Apache-2.0
 * option.c - options of the command line, and messages about wrong ones.
 *
 * getopt_long() parses them. Its own messages differ between C libraries and do not mention --help,
 * so they are off and replaced. Rejected: a parser of our own, because people are used to
 * permutation, abbreviations and clusters of letters.
 */
#include <ctype.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "proto/text_lexer.h"
#include "tool/tool.h"

#define NAMES_BYTES 512

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
	const char *names[64];
	size_t count = 0, meant = 0;
	size_t size = strcspn(text + 2, "=");

	for (; options[count].name && count < ORMA_ARRAY_SIZE(names); count++) {
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
	wrong[ORMA_MIN(size, sizeof(wrong) - 1)] = '\0';
	const char *closest = orma_tool_closest(wrong, names, count);
	if (closest)
		orma_tool_usage_error("there is no option %.*s; did you mean --%s?", (int)size + 2,
				      text, closest);
	else
		orma_tool_usage_error("there is no option %.*s", (int)size + 2, text);
}

int orma_tool_option(int argc, char **argv, const char *letters, const struct option *options)
{
	opterr = 0;
	int option = getopt_long(argc, argv, letters, options, NULL);
	if (option != '?' && option != ':')
		return option;
	/* getopt_long() has stepped over a long option; a letter may be inside a cluster. */
	const char *text = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	bool is_long = strncmp(text, "--", 2) == 0 && text[2];
	char letter[3] = {'-', (char)optopt, '\0'};
	if (option == ':')
		orma_tool_usage_error("%s needs a value", is_long ? text : letter);
	else if (is_long && optopt == 0)
		explain_unknown(text, options);
	else if (is_long)
		orma_tool_usage_error("%.*s takes no value", (int)strcspn(text, "="), text);
	else if (isprint(optopt))
		orma_tool_usage_error("there is no option %s", letter);
	else
		orma_tool_usage_error("there is no such option");
	return '?';
}
