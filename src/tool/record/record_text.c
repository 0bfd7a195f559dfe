/* SPDX-License-Identifier: Apache-2.0
 * record_text.c - the text of the config that options of a command line stand for.
 *
 * The words that name what to record are of four kinds: a data source ("linux.sys_stats"), a group
 * ("sched", record_groups.c), an event of the kernel ("sched/sched_switch"), and a probe on a
 * function ("kprobe:vfs_read", "uprobe:/bin/bash:readline", as bpftrace has them). Groups, events and
 * probes add to what is recorded without them. With a data source among the words, only the data
 * sources that are named are recorded:
 *
 *   data source named?      no: the default ones               yes: those
 *   group, event, probe?    linux.ftrace with all their events, each once; and what groups add to
 *                           linux.sys_stats, if that is recorded
 *
 * Any other word is a data source, because programs may register any name.
 *
 * Buffer 0 has events of programs and of the kernel, which come at every rate, are read together and
 * should cover the same time. Sources that poll get buffer 1 if there is something else, which could
 * push their packets out of a common ring within seconds. Rejected: a buffer for the kernel alone
 * (its events would then begin at another time than the programs').
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/record/record.h"
#include "tool/record/record_groups.h"
#include "tool/tool.h"

#define DEFAULT_BUFFER_KB 32768u
/* A ring of a time: what busy programs and a busy kernel write in a second, within limits. */
#define RING_KB_PER_SECOND 4096u
#define RING_KB_MAX        (UINT64_C(1) << 20)
/* Limits on the buffer for sources that poll, which has a quarter of the other buffer's size. */
#define POLLED_BUFFER_KB_MIN 1024u
#define POLLED_BUFFER_KB_MAX 16384u
#define DEFAULT_DURATION_MS  10000

#define FTRACE      "linux.ftrace"
#define SYS_STATS   "linux.sys_stats"
#define TRACK_EVENT "track_event"

/* Recorded when no source is named: everything that this machine tells without root, and every
 * program's own events. */
static const char *const default_sources[] = {"linux.process_stats", SYS_STATS, "linux.system_info",
					      TRACK_EVENT};

static const struct source_text {
	const char *name;
	bool is_polled;     /* writes a little at intervals */
	const char *config; /* inside config { ... } */
} source_texts[] = {
	{"linux.process_stats", true,
	 "    process_stats_config {\n"
	 "      scan_all_processes_on_start: true\n"
	 "      record_process_runtime: true\n"
	 "      proc_stats_poll_ms: 500\n"
	 "    }\n"},
	{SYS_STATS, true, NULL},    /* by append_sys_stats() */
	{TRACK_EVENT, false, NULL}, /* by append_categories() */
	{"linux.system_info", true, ""},
	{"linux.cgroup_stats", true, ""},
	{"linux.sysfs_power", true, ""},
	{"linux.systemd_journald", true, ""},
};

/* linux.ftrace tells a function of a program from one of the kernel by its path. */
static const struct probe_word {
	const char *prefix, *type; /* KprobeEvent.type */
} probe_words[] = {
	{"kprobe:", "KPROBE_TYPE_KPROBE"},
	{"kretprobe:", "KPROBE_TYPE_KRETPROBE"},
	{"uprobe:/", "KPROBE_TYPE_KPROBE"},
	{"uretprobe:/", "KPROBE_TYPE_KRETPROBE"},
};

/* The words, sorted. */
struct selection {
	const struct orma_record_wish *wish;
	const char **sources; /* without linux.ftrace */
	size_t count;
	bool names_sources; /* one of the words is a data source */
	bool has_ftrace, has_polled_buffer;
	const struct orma_record_group **groups;
	size_t group_count;
};

static const struct source_text *find_source_text(const char *name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(source_texts); i++)
		if (strcmp(source_texts[i].name, name) == 0)
			return &source_texts[i];
	return NULL;
}

static bool is_polled(const char *name)
{
	const struct source_text *source = find_source_text(name);

	return source && source->is_polled;
}

static const struct probe_word *find_probe_word(const char *word)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(probe_words); i++)
		if (strncmp(word, probe_words[i].prefix, strlen(probe_words[i].prefix)) == 0)
			return &probe_words[i];
	return NULL;
}

static bool is_event(const char *word)
{
	return strchr(word, '/') && !find_probe_word(word);
}

bool orma_record_is_of_kernel(const char *word)
{
	return strchr(word, '/') || find_probe_word(word) || orma_record_group_find(word);
}

/* --- choosing sources ------------------------------------------------------------------------- */

static void add_source(struct selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->count; i++)
		if (strcmp(selection->sources[i], name) == 0)
			return;
	if (strcmp(name, FTRACE) == 0)
		selection->has_ftrace = true;
	else
		selection->sources[selection->count++] = name;
}

static void add_group(struct selection *selection, const struct orma_record_group *group)
{
	selection->has_ftrace = true;
	for (size_t i = 0; i < selection->group_count; i++)
		if (selection->groups[i] == group)
			return;
	selection->groups[selection->group_count++] = group;
}

static void add_words(struct selection *selection)
{
	const struct orma_record_wish *wish = selection->wish;

	for (int i = 0; i < wish->source_count; i++) {
		const struct orma_record_group *group = orma_record_group_find(wish->sources[i]);

		if (group) {
			add_group(selection, group);
		} else if (orma_record_is_of_kernel(wish->sources[i])) {
			selection->has_ftrace = true;
		} else {
			selection->names_sources = true;
			add_source(selection, wish->sources[i]);
		}
	}
}

/* Adds what the words do not name. */
static void add_defaults(struct selection *selection)
{
	if (!selection->names_sources)
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(default_sources); i++)
			add_source(selection, default_sources[i]);
	if (selection->wish->category_count)
		add_source(selection, TRACK_EVENT);
	for (size_t i = 0; i < selection->group_count; i++)
		if (selection->groups[i]->source)
			add_source(selection, selection->groups[i]->source);
}

/* Decides whether sources that poll get a buffer of their own. */
static void divide_buffers(struct selection *selection)
{
	size_t polled = 0;

	for (size_t i = 0; i < selection->count; i++)
		polled += is_polled(selection->sources[i]);
	selection->has_polled_buffer =
		polled > 0 && (polled < selection->count || selection->has_ftrace);
}

static void free_selection(struct selection *selection)
{
	orma_base_free(selection->sources);
	orma_base_free(selection->groups);
}

static int select_sources(const struct orma_record_wish *wish, struct selection *ret)
{
	size_t max = (size_t)wish->source_count + ORMA_ARRAY_SIZE(default_sources) +
		     orma_record_group_count + 1;

	*ret = (struct selection){.wish = wish};
	ret->sources = orma_base_alloc_array(max, sizeof(*ret->sources));
	ret->groups = orma_base_alloc_array(orma_record_group_count, sizeof(*ret->groups));
	if (!ret->sources || !ret->groups)
		return -ENOMEM;
	add_words(ret);
	add_defaults(ret);
	divide_buffers(ret);
	return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Appends a string literal of the text format. */
static int append_quoted(struct orma_buf *text, struct orma_str value)
{
	int r = orma_base_buf_append_str(text, "\"");

	for (size_t i = 0; i < value.size && r == 0; i++) {
		unsigned char c = (unsigned char)value.data[i];
		if (c == '"' || c == '\\' || c < 0x20 || c == 0x7f)
			r = orma_base_buf_printf(text, "\\%03o", c);
		else
			r = orma_base_buf_append(text, value.data + i, 1);
	}
	return r ? r : orma_base_buf_append_str(text, "\"");
}

/* Appends a line with a field whose value is a string. */
static int append_field(struct orma_buf *text, const char *name, struct orma_str value)
{
	int r = orma_base_buf_printf(text, "%s: ", name);

	if (r == 0)
		r = append_quoted(text, value);
	return r ? r : orma_base_buf_append_str(text, "\n");
}

static int append_categories(const struct orma_record_wish *wish, struct orma_buf *text)
{
	int r = orma_base_buf_append_str(text, "    track_event_config {\n");

	for (int i = 0; i < wish->category_count && r == 0; i++)
		r = append_field(text, "      enabled_categories",
				 orma_base_str(wish->categories[i]));
	/* A category is enabled unless something disables it, and the more exact name counts. */
	if (r == 0)
		r = append_field(text,
				 wish->category_count ? "      disabled_categories"
						      : "      enabled_categories",
				 ORMA_STR("*"));
	return r ? r : orma_base_buf_append_str(text, "    }\n");
}

static int append_sys_stats(const struct selection *selection, struct orma_buf *text)
{
	int r = orma_base_buf_append_str(text, "    sys_stats_config {\n"
					       "      meminfo_period_ms: 250\n"
					       "      vmstat_period_ms: 250\n"
					       "      stat_period_ms: 250\n");

	for (size_t i = 0; i < selection->group_count && r == 0; i++)
		r = orma_base_buf_append_str(text, selection->groups[i]->sys_stats);
	return r ? r : orma_base_buf_append_str(text, "    }\n");
}

static int append_source(const struct selection *selection, const char *name, struct orma_buf *text)
{
	const struct source_text *source = find_source_text(name);
	int r = orma_base_buf_append_str(text, "data_sources {\n  config {\n");

	if (r == 0)
		r = append_field(text, "    name", orma_base_str(name));
	if (r == 0 && selection->has_polled_buffer && is_polled(name))
		r = orma_base_buf_append_str(text, "    target_buffer: 1\n");
	if (r == 0 && strcmp(name, SYS_STATS) == 0)
		r = append_sys_stats(selection, text);
	else if (r == 0 && strcmp(name, TRACK_EVENT) == 0)
		r = append_categories(selection->wish, text);
	else if (r == 0 && source)
		r = orma_base_buf_append_str(text, source->config);
	return r ? r : orma_base_buf_append_str(text, "  }\n}\n");
}

/* Appends an event unless an earlier line of `text` from `begin` on has it. */
static int append_event(struct orma_buf *text, size_t begin, struct orma_str name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	int r = append_field(&line, "      ftrace_events", name);

	if (r || memmem(text->data + begin, text->size - begin, line.data, line.size))
		return r;
	return orma_base_buf_append(text, line.data, line.size);
}

static int append_group_events(const struct orma_record_group *group, size_t begin,
			       struct orma_buf *text)
{
	int r = 0;

	for (const char *at = group->events; *at && r == 0;) {
		size_t size = strcspn(at, " ");

		r = append_event(text, begin, (struct orma_str){at, size});
		at += size + (at[size] == ' ');
	}
	return r;
}

static int append_probe(struct orma_buf *text, const char *word)
{
	const struct probe_word *probe = find_probe_word(word);
	int r = orma_base_buf_append_str(text, "      kprobe_events {\n");

	if (r == 0)
		r = append_field(text, "        probe", orma_base_str(strchr(word, ':') + 1));
	return r ? r : orma_base_buf_printf(text, "        type: %s\n      }\n", probe->type);
}

static int append_ftrace(const struct selection *selection, struct orma_buf *text)
{
	const struct orma_record_wish *wish = selection->wish;
	int r = orma_base_buf_append_str(text, "data_sources {\n  config {\n    name: \"" FTRACE
					       "\"\n    ftrace_config {\n");
	size_t begin = text->size;

	for (size_t i = 0; i < selection->group_count && r == 0; i++)
		r = append_group_events(selection->groups[i], begin, text);
	for (int i = 0; i < wish->source_count && r == 0; i++)
		if (is_event(wish->sources[i]))
			r = append_event(text, begin, orma_base_str(wish->sources[i]));
	for (int i = 0; i < wish->source_count && r == 0; i++)
		if (find_probe_word(wish->sources[i]))
			r = append_probe(text, wish->sources[i]);
	for (size_t i = 0; i < selection->group_count && r == 0; i++)
		r = orma_base_buf_append_str(text, selection->groups[i]->ftrace);
	return r ? r
		 : orma_base_buf_append_str(text, "      symbolize_ksyms: true\n    }\n  }\n}\n");
}

/* Appends all events of the hypervisor, which have a buffer of their own in the kernel. */
static int append_hypervisor(const char *name, struct orma_buf *text)
{
	return orma_base_buf_printf(text,
				    "data_sources {\n  config {\n    name: \"" FTRACE
				    "\"\n    ftrace_config {\n      instance_name: \"%s\"\n"
				    "      ftrace_events: \"%s/*\"\n    }\n  }\n}\n",
				    name, name);
}

static uint64_t get_buffer_kb(const struct orma_record_wish *wish)
{
	uint64_t ring_kb = (uint64_t)wish->ring_ms * RING_KB_PER_SECOND / 1000;

	if (wish->buffer_kb)
		return wish->buffer_kb;
	return ORMA_MIN(ORMA_MAX(ring_kb, DEFAULT_BUFFER_KB), RING_KB_MAX);
}

static int append_buffer(struct orma_buf *text, uint64_t size_kb)
{
	return orma_base_buf_printf(text,
				    "buffers {\n  size_kb: %llu\n  fill_policy: RING_BUFFER\n}\n",
				    (unsigned long long)size_kb);
}

static int append_buffers(const struct selection *selection, struct orma_buf *text)
{
	uint64_t size_kb = get_buffer_kb(selection->wish);
	int r = append_buffer(text, size_kb);

	if (r == 0 && selection->has_polled_buffer)
		r = append_buffer(text, ORMA_MIN(ORMA_MAX(size_kb / 4, POLLED_BUFFER_KB_MIN),
						 POLLED_BUFFER_KB_MAX));
	return r;
}

/* Appends how the file is written: at the end, or meanwhile. */
static int append_output(const struct orma_record_wish *wish, struct orma_buf *text)
{
	int r = 0;

	if (wish->is_streaming || wish->file_limit_kb)
		r = orma_base_buf_append_str(
			text,
			wish->is_live
				? "write_into_file: true\nfile_write_period_ms: 100\n"
				  "flush_period_ms: 100\n"
				  /* Else the period would be that of files, 5 seconds. */
				  "write_flush_mode: WRITE_FLUSH_DISABLED\n"
				/* The service flushes so often anyway; readers of the trace look
				       * for the number. */
				: "write_into_file: true\nfile_write_period_ms: 1000\n"
				  "flush_period_ms: 5000\n");
	if (r == 0 && wish->file_limit_kb)
		r = orma_base_buf_printf(text, "max_file_size_bytes: %llu\n",
					 (unsigned long long)wish->file_limit_kb * 1024);
	if (r == 0 && wish->file_count)
		r = orma_base_buf_printf(text, "max_file_count: %u\n", wish->file_count);
	if (r == 0 && wish->output_path)
		r = append_field(text, "output_path", orma_base_str(wish->output_path));
	if (r == 0 && wish->compresses)
		r = orma_base_buf_append_str(text, "compression {\n  deflate {\n  }\n");
	if (r == 0 && wish->uses_zstd)
		r = orma_base_buf_append_str(text, "  zstd {\n  }\n");
	if (r == 0 && wish->compresses)
		r = orma_base_buf_append_str(text, "}\n");
	return r;
}

int orma_record_config_text(const struct orma_record_wish *wish, struct orma_buf *text)
{
	struct selection selection;
	int r = select_sources(wish, &selection);

	if (r == 0)
		r = append_buffers(&selection, text);
	for (size_t i = 0; i < selection.count && r == 0; i++)
		r = append_source(&selection, selection.sources[i], text);
	if (r == 0 && selection.has_ftrace)
		r = append_ftrace(&selection, text);
	if (r == 0 && wish->hypervisor)
		r = append_hypervisor(wish->hypervisor, text);
	if (r == 0 && !wish->is_endless)
		r = orma_base_buf_printf(text, "duration_ms: %u\n",
					 wish->duration_ms ? wish->duration_ms
							   : DEFAULT_DURATION_MS);
	if (r == 0)
		r = append_output(wish, text);
	free_selection(&selection);
	return r;
}

void orma_record_print_sources(void)
{
	for (size_t i = 0; i < orma_record_group_count; i++) {
		fputs("source\t", stdout);
		orma_tool_print(stdout, "%s", orma_record_groups[i].name);
		fputs("\t", stdout);
		orma_tool_print_line(stdout, "%s", orma_record_groups[i].about);
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(default_sources); i++) {
		fputs("source\t", stdout);
		orma_tool_print(stdout, "%s", default_sources[i]);
		fputs("\t-\n", stdout);
	}
}
