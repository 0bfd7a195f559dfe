/* SPDX-License-Identifier: Apache-2.0
 * sql_shell.c - `orma sql` on a terminal: lines that begin with a dot are commands of the shell, all else is SQL.
 */
#include "tool/ask/sql_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "sql/sql_token.h"
#include "tool/ask/line_editor.h"
#include "tool/ask/name_list.h"
#include "tool/ask/pager.h"
#include "tool/ask/query_run.h"
#include "tool/ask/sql_complete.h"
#include "tool/export/export.h"
#include "tool/print.h"
#include "tool/tool.h"

static const char prompt[] = "sql > ", next_prompt[] = "  ... ";

static const struct word {
	const char *word;
	int value;
} formats[] = {{"table", ORMA_ASK_TABLE},
	       {"csv", ORMA_ASK_CSV},
	       {"json", ORMA_ASK_JSON},
	       {"markdown", ORMA_ASK_MARKDOWN}},
  switches[] = {{"on", true}, {"off", false}};

struct shell {
	struct orma_ask *ask;
	struct orma_trace_database *database;
	enum orma_ask_format format;
	bool has_timer, is_over;
	struct orma_pager pager;
	FILE *file; /* opened by .output; NULL = the terminal */
};

static int write_output(void *ctx, const void *data, size_t size)
{
	struct shell *shell = ctx;
	return shell->file ? orma_tool_write_raw(shell->file, data, size)
			   : orma_pager_write(&shell->pager, data, size);
}

static void run_sql(struct shell *shell, struct orma_str text)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	orma_query_run(shell->ask, text, shell->format, write_output, shell);
	uint64_t ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	orma_pager_finish(&shell->pager);
	if (shell->file && fflush(shell->file) != 0)
		orma_tool_warn("cannot write the output: %s", strerror(errno));
	if (shell->has_timer)
		orma_tool_print_line(stdout, "%.3f ms", (double)ns / 1e6);
}

static void run_text(struct shell *shell, const char *text)
{
	run_sql(shell, orma_base_str(text));
}

static void print_help(struct shell *shell, const char *argument);

static void quit(struct shell *shell, const char *argument)
{
	(void)argument;
	shell->is_over = true;
}

static void read_queries(struct shell *shell, const char *argument)
{
	orma_query_run_file(shell->ask, argument, shell->format, write_output, shell);
	orma_pager_finish(&shell->pager);
}

/* Prints names one per line. */
static void print_names(struct shell *shell, struct orma_buf *names, int error)
{
	int r = error < 0 ? error : orma_names_sort(names);
	for (size_t i = 0; r == 0 && i < names->size; i++)
		if (names->data[i] == '\0')
			names->data[i] = '\n';
	if (r == 0 && names->size > 0)
		r = write_output(shell, names->data, names->size);
	orma_pager_finish(&shell->pager);
	if (r < 0 && r != -EPIPE)
		orma_tool_warn("%s", strerror(-r));
	orma_base_buf_done(names);
}

static void print_tables(struct shell *shell, const char *argument)
{
	struct orma_buf names = {0};
	int r = orma_names_add_tables(shell->database, orma_base_str(argument), &names);
	print_names(shell, &names, r);
}

static void print_functions(struct shell *shell, const char *argument)
{
	struct orma_buf names = {0};
	int r = orma_names_add_functions(shell->database, orma_base_str(argument), &names);
	print_names(shell, &names, r);
}

static void print_modules(struct shell *shell, const char *argument)
{
	struct orma_buf names = {0};
	int r = orma_names_add_modules(shell->database, orma_base_str(argument), &names);
	print_names(shell, &names, r);
}

static void print_schema(struct shell *shell, const char *argument)
{
	struct orma_buf names = {0};
	int r = orma_names_add_columns(shell->database, orma_base_str(argument), ORMA_STR(""),
				       &names);
	if (r == 0 && names.size == 0)
		orma_tool_warn("there is no table %s", argument);
	/* The order is that of the table. */
	for (size_t i = 0; r == 0 && i < names.size; i++)
		if (names.data[i] == '\0')
			names.data[i] = '\n';
	if (r == 0 && names.size > 0)
		(void)write_output(shell, names.data, names.size);
	orma_pager_finish(&shell->pager);
	orma_base_buf_done(&names);
}

/* Returns the value of a word, or -1 when a message has said which words there are. */
static int value_of(const char *argument, const struct word *words, size_t count)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf list = {0};
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i].word, argument) == 0)
			return words[i].value;
		(void)orma_base_buf_printf(&list, "%s%s", i > 0 ? ", " : "", words[i].word);
	}
	const char *text = orma_base_buf_cstr(&list);
	orma_tool_warn("\"%s\" is not one of: %s", argument, text ? text : "");
	return -1;
}

static void set_format(struct shell *shell, const char *argument)
{
	int value = value_of(argument, formats, ORMA_ARRAY_SIZE(formats));
	if (value >= 0)
		shell->format = (enum orma_ask_format)value;
}

static void set_timer(struct shell *shell, const char *argument)
{
	int value = value_of(argument, switches, ORMA_ARRAY_SIZE(switches));
	if (value >= 0)
		shell->has_timer = value;
}

static void set_pager(struct shell *shell, const char *argument)
{
	int value = value_of(argument, switches, ORMA_ARRAY_SIZE(switches));
	if (value >= 0)
		shell->pager.is_off = !value;
}

static void set_output(struct shell *shell, const char *argument)
{
	if (shell->file && fclose(shell->file) != 0)
		orma_tool_warn("cannot write the output: %s", strerror(errno));
	shell->file = NULL;
	if (!*argument || strcmp(argument, "-") == 0)
		return;
	int fd = open(argument, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	shell->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!shell->file) {
		orma_tool_warn("cannot open %s: %s", argument, strerror(errno));
		orma_base_fd_close(fd);
	}
}

static void dump(struct shell *shell, const char *argument)
{
	struct orma_export_options options = {.kind = ORMA_EXPORT_SQLITE, .path = argument};
	(void)orma_export_loaded(shell->ask, &options);
}

static const struct command {
	const char *name, *argument, *help;
	bool needs_argument;
	void (*run)(struct shell *shell, const char *argument);
} commands[] = {
	{".dump", "FILE", "write all tables and views into a file of SQLite", true, dump},
	{".functions", "[PREFIX]", "list the functions", false, print_functions},
	{".help", "", "print this", false, print_help},
	{".mode", "MODE", "print rows as table, csv, json or markdown", true, set_format},
	{".modules", "[PREFIX]", "list what `include perfetto module` finds", false, print_modules},
	{".output", "[FILE]", "print rows into a file; without FILE, on the terminal again", false,
	 set_output},
	{".pager", "on|off", "show long output page by page, with $PAGER", true, set_pager},
	{".quit", "", "leave; so does Ctrl-D", false, quit},
	{".read", "FILE", "run the queries in a file", true, read_queries},
	{".schema", "TABLE", "list the columns of a table or view", true, print_schema},
	{".tables", "[PREFIX]", "list the tables and views", false, print_tables},
	{".timer", "on|off", "print how long each query takes", true, set_timer},
};

static void print_help(struct shell *shell, const char *argument)
{
	(void)shell;
	(void)argument;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		orma_tool_print_line(stdout, "%-10s %-9s %s", commands[i].name,
				     commands[i].argument, commands[i].help);
	puts("A query ends with a semicolon. Tab completes names, Ctrl-R searches what was typed, "
	     "Ctrl-C stops a query.");
}

/* Finds a command by its name, or by a beginning that only one has. */
static const struct command *find_command(struct orma_str name)
{
	const struct command *found = NULL;
	size_t count = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++) {
		if (strncmp(commands[i].name, name.data, name.size) != 0)
			continue;
		if (commands[i].name[name.size] == '\0')
			return &commands[i];
		found = &commands[i];
		count++;
	}
	return count == 1 ? found : NULL;
}

static void run_command(struct shell *shell, char *line)
{
	size_t size = strcspn(line, " \t\n;"), end = strlen(line);
	const struct command *command = find_command((struct orma_str){line, size});
	while (end > size && strchr(" \t;\n", line[end - 1]))
		line[--end] = '\0';
	const char *argument = line + size + strspn(line + size, " \t\n;");
	if (!command)
		orma_tool_warn("there is no command %.*s; .help lists them", (int)size, line);
	else if (command->needs_argument && !*argument)
		orma_tool_warn("%s needs %s", command->name, command->argument);
	else
		command->run(shell, argument);
}

static bool is_command(struct orma_str text)
{
	size_t at = 0;
	while (at < text.size && strchr(" \t\n", text.data[at]))
		at++;
	return at < text.size && text.data[at] == '.';
}

/* A command is one line; SQL ends with a semicolon that is not part of a string or comment. */
static bool is_complete(void *ctx, struct orma_str text)
{
	struct orma_token last = {.kind = ORMA_TOKEN_END}, token;
	(void)ctx;
	if (is_command(text))
		return true;
	for (size_t at = 0;; at = orma_sql_token_end(&token)) {
		token = orma_sql_token_next(text, at);
		if (token.kind == ORMA_TOKEN_UNFINISHED)
			return false;
		if (token.kind == ORMA_TOKEN_END)
			break;
		last = token;
	}
	return last.kind == ORMA_TOKEN_END || orma_sql_token_is_sign(&last, ';');
}

static int add_words(const struct word *words, size_t count, struct orma_str prefix,
		     struct orma_buf *ret)
{
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		if (strncmp(words[i].word, prefix.data, prefix.size) == 0)
			r = orma_base_buf_append(ret, words[i].word, strlen(words[i].word) + 1);
	return r;
}

static int add_commands(struct orma_str prefix, struct orma_buf *ret)
{
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands) && r == 0; i++)
		if (strncmp(commands[i].name, prefix.data, prefix.size) == 0)
			r = orma_base_buf_append(ret, commands[i].name,
						 strlen(commands[i].name) + 1);
	return r;
}

/* Completes a command, or what stands behind it. */
static int complete_command(struct shell *shell, struct orma_str text, size_t *begin,
			    struct orma_buf *ret)
{
	size_t at = *begin;
	while (at > 0 && !strchr(" \t\n", text.data[at - 1]))
		at--;
	struct orma_str prefix = {text.data + at, *begin - at};
	*begin = at;
	if (prefix.size > 0 && prefix.data[0] == '.')
		return add_commands(prefix, ret);
	const struct command *command =
		find_command((struct orma_str){text.data, strcspn(text.data, " \t")});
	if (!command)
		return 0;
	if (command->run == print_schema || command->run == print_tables)
		return orma_names_add_tables(shell->database, prefix, ret);
	if (command->run == print_modules)
		return orma_names_add_modules(shell->database, prefix, ret);
	if (command->run == set_format)
		return add_words(formats, ORMA_ARRAY_SIZE(formats), prefix, ret);
	if (command->run == set_timer || command->run == set_pager)
		return add_words(switches, ORMA_ARRAY_SIZE(switches), prefix, ret);
	return 0;
}

static int complete(void *ctx, struct orma_str text, size_t *begin, struct orma_buf *ret)
{
	struct shell *shell = ctx;
	if (!is_command(text))
		return orma_sql_complete(shell->database, text, begin, ret);
	int r = complete_command(shell, text, begin, ret);
	return r == 0 ? orma_names_sort(ret) : r;
}

static void run_typed(struct shell *shell, struct orma_buf *text)
{
	char *typed = (char *)(uintptr_t)orma_base_buf_cstr(text);
	if (typed && is_command(orma_base_str(typed)))
		run_command(shell, typed + strspn(typed, " \t\n"));
	else if (typed)
		run_text(shell, typed);
	text->size = 0;
}

/* Uses the line editor. Returns 0 or -ENOMEM. */
static int run_editor(struct shell *shell)
{
	ORMA_AUTO(orma_line_history_done) struct orma_line_history history = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_line_editor editor = {.keys = {.fd = STDIN_FILENO},
					  .out_fd = STDOUT_FILENO,
					  .prompt = prompt,
					  .history = &history,
					  .is_complete = is_complete,
					  .complete = complete,
					  .ctx = shell};
	orma_line_history_open(&history, "sql_history");
	while (!shell->is_over) {
		int r = orma_line_editor_read(&editor, &text);
		if (r == ORMA_LINE_END || r < 0)
			return r;
		if (r == ORMA_LINE_STOPPED)
			continue;
		orma_line_history_add(&history,
				      (struct orma_str){(const char *)text.data, text.size});
		run_typed(shell, &text);
	}
	return 0;
}

/* Reads from a terminal without an editor, or from a pipe, where a line is a query. Returns 0 or -ENOMEM. */
static int run_lines(struct shell *shell)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	char line[4096];
	bool is_terminal = isatty(STDIN_FILENO);
	while (!shell->is_over) {
		if (is_terminal)
			orma_tool_print(stdout, "%s", text.size > 0 ? next_prompt : prompt);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			break;
		int r = orma_base_buf_append_str(&text, line);
		if (r < 0)
			return r;
		if (!is_terminal ||
		    is_complete(shell, (struct orma_str){(const char *)text.data, text.size}))
			run_typed(shell, &text);
	}
	return 0;
}

int orma_sql_shell_run(struct orma_ask *ask, enum orma_ask_format format)
{
	bool can_edit = orma_line_editor_works(STDIN_FILENO, STDOUT_FILENO);
	struct shell shell = {.ask = ask,
			      .database = orma_ask_database(ask),
			      .format = format,
			      .pager = {.is_off = !can_edit}};
	orma_query_take_signals(true);
	if (can_edit)
		puts(".help lists the commands of the shell.");
	int r = can_edit ? run_editor(&shell) : run_lines(&shell);
	if (!can_edit && !shell.is_over && isatty(STDIN_FILENO))
		puts("");
	set_output(&shell, "");
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}
