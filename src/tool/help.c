/* SPDX-License-Identifier: Apache-2.0
 * help.c - prints a command's table: for people as --help, and for programs with tabs.
 */
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "tool/option.h"
#include "tool/print.h"

enum { WIDTH = 80, TEXT_COLUMN = 26, HEAD_BYTES = 80 };

static const struct orma_tool_option help_option = {'h', "help", NULL, "Print the options.", NULL};

static bool has_letter(const struct orma_tool_option *option)
{
	return option->id < ORMA_OPTION_VERSION;
}

static void print_spaces(FILE *out, size_t count)
{
	orma_tool_print(out, "%*s", (int)count, "");
}

/* Prints text in lines of at most WIDTH columns. The first line continues at column `at`, later ones
 * begin at column `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
	size_t column = at;

	while (*text) {
		size_t size = strcspn(text, " \n"), breaks = strspn(text + size, " \n");

		if (column > indent && column + 1 + size > WIDTH) {
			fputs("\n", out);
			print_spaces(out, indent);
			column = indent;
		} else if (column > indent) {
			fputs(" ", out);
			column++;
		}
		orma_tool_print(out, "%.*s", (int)size, text);
		column += size;
		text += size;
		/* An empty line separates paragraphs. */
		if (breaks > 1 && text[1] == '\n' && text[breaks]) {
			fputs("\n\n", out);
			print_spaces(out, indent);
			column = indent;
		}
		text += breaks;
	}
	fputs("\n", out);
}

static void print_usage(const char *title, const char *usage)
{
	const char *word = "Usage:";

	do {
		size_t size = strcspn(usage, "\n");

		orma_tool_print_line(stdout, "%s %s%s%.*s", word, title, size ? " " : "", (int)size,
				     usage);
		usage += size + (usage[size] == '\n');
		word = "      ";
	} while (*usage);
}

static void print_option(const struct orma_tool_option *option)
{
	char head[HEAD_BYTES];
	char letter[5] = "    ";

	if (has_letter(option))
		snprintf(letter, sizeof(letter), "-%c, ", option->id);
	snprintf(head, sizeof(head), "  %s--%s%s%s", letter, option->name,
		 option->value && option->value[0] != '[' ? " " : "",
		 option->value ? option->value : "");
	size_t size = strlen(head);
	orma_tool_print(stdout, "%s", head);
	if (size + 2 > TEXT_COLUMN) {
		puts("");
		size = 0;
	}
	print_spaces(stdout, TEXT_COLUMN - size);
	print_wrapped(stdout, option->help, TEXT_COLUMN, TEXT_COLUMN);
}

void orma_tool_print_help(const struct orma_tool_command *command)
{
	char title[HEAD_BYTES];

	snprintf(title, sizeof(title), "%s%s", command->summary ? "orma " : "", command->name);
	print_usage(title, command->usage);
	puts("");
	print_wrapped(stdout, command->about, 0, 0);
	puts("");
	for (const struct orma_tool_option *option = command->options; option->name; option++)
		print_option(option);
	print_option(&help_option);
	if (command->notes) {
		puts("");
		print_wrapped(stdout, command->notes, 0, 0);
	}
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void print_fields(const char *const *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			fputs("\t", stdout);
		orma_tool_print(stdout, "%s", fields[i]);
	}
	puts("");
}

static void print_row(const struct orma_tool_command *command,
		      const struct orma_tool_option *option)
{
	char letter[2] = "-";
	if (has_letter(option))
		letter[0] = (char)option->id;
	const char *const fields[] = {
		"option",     command->name,          letter,
		option->name, or_dash(option->value), or_dash(option->completes),
		option->help};

	print_fields(fields, ORMA_ARRAY_SIZE(fields));
}

void orma_tool_print_table(const struct orma_tool_command *command)
{
	const char *const fields[] = {"command", command->name, or_dash(command->completes),
				      or_dash(command->summary)};

	print_fields(fields, ORMA_ARRAY_SIZE(fields));
	for (const struct orma_tool_option *option = command->options; option->name; option++)
		print_row(command, option);
	print_row(command, &help_option);
}
