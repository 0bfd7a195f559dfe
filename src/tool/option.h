/* SPDX-License-Identifier: Apache-2.0
 * option.h - a command of the binary as data: its name, its options, and what each of them does.
 *
 *   struct orma_tool_command --+-- option.c: the parser, and messages about mistakes
 *                              +-- help.c: `orma COMMAND --help`
 *                              +-- help.c: `orma --print-options`, a table with tabs, for
 *                                    extra/completions (bash, zsh and fish)
 *                                    tools/man-options (the options in docs/man/orma-*.1 and .8)
 *
 * So an option is described once. tests/rules compares the pages and the completions with the
 * table. The first paragraph of an option's item in a page is the table's text; longer explanations
 * follow it by hand.
 *
 * Rejected: a file in a format of its own, from which C, mdoc and shell are generated (a language
 * and a build step for some strings, and a generator that must run before anything compiles); the
 * whole text of the pages in the table (the binary would carry it); completions that read --help
 * (three copies of a parser for text that is made for people).
 */
#ifndef ORMA_TOOL_OPTION_H
#define ORMA_TOOL_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* Numbers of options without a letter. */
enum { ORMA_OPTION_VERSION = 256, ORMA_OPTION_FIRST_OWN };

/* The row of commands that are also called in place of Perfetto's programs. */
#define ORMA_TOOL_VERSION_OPTION                                                                   \
	{                                                                                          \
		ORMA_OPTION_VERSION, "version", NULL,                                              \
			"Print the version, and which of the optional libraries zstd, libdeflate " \
			"and PCRE2 are "                                                           \
			"in (+) and which are not (-).",                                           \
			NULL                                                                       \
	}

/* The most options of one command. */
#define ORMA_TOOL_OPTIONS_MAX 64

/* Kinds of values and arguments that a shell can complete. */
#define ORMA_COMPLETE_FILE   "@file"
#define ORMA_COMPLETE_FOLDER "@folder"
#define ORMA_COMPLETE_PROTO  "@proto" /* .proto files */
#define ORMA_COMPLETE_USER   "@user"
#define ORMA_COMPLETE_GROUP  "@group"
#define ORMA_COMPLETE_SOURCE "@source" /* data sources, groups and ftrace events */

struct orma_tool_option {
	int id;           /* its letter, or a number from ORMA_OPTION_VERSION on */
	const char *name; /* without "--" */
	const char *
		value; /* "FILE", the name of its value; "[=FILE]": it may be left out; NULL = it takes none */
	const char *help;      /* a sentence or two */
	const char *completes; /* words, or one of ORMA_COMPLETE_*; NULL = nothing */
};

struct orma_tool_command {
	const char *name;    /* "record" */
	const char *summary; /* for `orma --help`; NULL = a program's name, not a command of orma */
	const char *usage;   /* forms of what follows the name, one per line */
	const char *about;   /* paragraphs, separated by empty lines */
	/* Ends with a row without a name. --help is added to every command. */
	const struct orma_tool_option *options;
	const char *completes; /* as for an option: what the arguments are */
	const char *notes;     /* paragraphs behind the options; NULL = none */
	/* Unknown options are skipped, as programs may be called with options of other versions. */
	bool skips_unknown;
	int (*run)(int argc, char **argv);
};

/* Takes one option. `value` is a part of argv, or NULL when it has none. Returns -1 to go on, else
 * the exit status. */
typedef int orma_tool_option_fn(void *ctx, int id, char *value);

/*
 * Passes each option to `take`, and handles --help and --version. Returns -1 when all are taken;
 * `optind` is then the index of the first argument. Returns the exit status when an option ended
 * the command, or was wrong, which a message has said.
 */
int orma_tool_read_options(const struct orma_tool_command *command, int argc, char **argv,
			   orma_tool_option_fn *take, void *ctx);
/* Returns the one of `names` that was probably meant, or NULL. */
const char *orma_tool_closest(const char *wrong, const char *const *names, size_t count);

/* Prints the text of --help. */
void orma_tool_print_help(const struct orma_tool_command *command);
/*
 * Prints the lines of `orma --print-options` for one command, with tabs between fields and "-" for
 * a field without content: "command", name, what its arguments are, summary; then for each option
 * "option", command, letter, name, value, what completes it, help. orma_record_print_sources() adds
 * "source", name.
 */
void orma_tool_print_table(const struct orma_tool_command *command);

/* Returns how many arguments stand behind "--", which getopt_long() removes; -1 = there is none. */
int orma_tool_count_behind_dashes(int argc, char **argv);

#endif
