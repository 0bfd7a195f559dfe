/* SPDX-License-Identifier: Apache-2.0
 * ftrace_buffer.c - the buffers of tracefs that are in use: the first session takes one over, the last gives it back.
 *
 *   unused --first session: check, save, prepare--> prepared --first start--> recording
 *     ^                                                |   <--last stop--         |
 *     +------------------last session: restore---------+
 *
 * INVARIANT: a buffer exists exactly while it has sessions. Everything that is changed in its folder goes through its
 * journal, so releasing it restores what was found, whether the sessions ended well or the set-up failed half-way.
 *
 * The first session chooses the clock and the size, since the kernel empties the buffer when they change. Sessions that
 * come later share both. Upstream resets a buffer to one page at the end; here it gets the size that it had.
 *
 * A config with preserve_ftrace_buffer wants what is in the buffer already: neither content, clock nor size is touched, and
 * nobody is asked whether the buffer is in use.
 */
#include "probes/ftrace/ftrace_buffer.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "schema/gen/ftrace_event_bundle.pb.h"

/* --- preparing -------------------------------------------------------------------------------- */

/* Reports which file refused a change, and returns `error`. */
static int fail_file(const struct orma_ftrace_buffer *buffer, const char *file, int error,
		     struct orma_ftrace_report *report)
{
	orma_ftrace_report_problem(report, "cannot write %s/%s: %s; nothing is recorded",
				   buffer->fs.path, file, orma_base_error_words(error));
	return error;
}

/* Events that are left over in a buffer that is switched off would fill it. */
static int switch_off_leftovers(struct orma_ftrace_buffer *buffer,
				struct orma_ftrace_report *report)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str rest, name, group;

	if (orma_tracefs_value(&buffer->fs, "set_event", &buf, &rest) < 0)
		return 0;
	while (orma_probes_text_line(&rest, &name)) {
		char file[ORMA_TRACEFS_FILE_BYTES];

		if (!orma_probes_text_until(&name, ':', &group) || !orma_tracefs_is_name(group) ||
		    !orma_tracefs_is_name(name))
			continue;
		orma_tracefs_event_file(file, group, name, "enable");
		int r = orma_tracefs_journal_set(&buffer->journal, file, ORMA_STR("0"));
		if (r < 0)
			return fail_file(buffer, file, r, report);
	}
	return 0;
}

static int switch_off(struct orma_ftrace_buffer *buffer, struct orma_ftrace_report *report)
{
	int r = orma_tracefs_journal_set(&buffer->journal, "tracing_on", ORMA_STR("0"));

	if (r < 0)
		return fail_file(buffer, "tracing_on", r, report);
	r = orma_tracefs_journal_set_from(&buffer->journal, "trace", ORMA_STR(""), ORMA_STR(""));
	if (r < 0)
		return fail_file(buffer, "trace", r, report);
	r = switch_off_leftovers(buffer, report);
	if (r < 0)
		return r;
	/* A filter by thread that somebody has left would hide events from every session. */
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str pids;
	if (orma_tracefs_value(&buffer->fs, "set_event_pid", &buf, &pids) < 0 || pids.size == 0)
		return 0;
	r = orma_tracefs_journal_set(&buffer->journal, "set_event_pid", ORMA_STR(""));
	return r < 0 ? fail_file(buffer, "set_event_pid", r, report) : 0;
}

/* --- the clock -------------------------------------------------------------------------------- */

static bool has_clock(struct orma_str clocks, const char *name)
{
	struct orma_str word;

	while (orma_probes_text_word(&clocks, &word)) {
		while (word.size > 0 && (word.data[0] == '[' || word.data[0] == '\n')) {
			word.data++;
			word.size--;
		}
		while (word.size > 0 &&
		       (word.data[word.size - 1] == ']' || word.data[word.size - 1] == '\n'))
			word.size--;
		if (orma_base_str_is(word, name))
			return true;
	}
	return false;
}

static int32_t clock_id(struct orma_str name)
{
	/* Readers take a missing clock for boot. */
	if (orma_base_str_is(name, "boot"))
		return ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_UNSPECIFIED;
	if (orma_base_str_is(name, "global"))
		return ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_GLOBAL;
	if (orma_base_str_is(name, "local"))
		return ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_LOCAL;
	if (orma_base_str_is(name, "mono_raw"))
		return ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_MONO_RAW;
	return ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_UNKNOWN;
}

static void read_clock(struct orma_ftrace_buffer *buffer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str name = {0};

	(void)orma_tracefs_value(&buffer->fs, "trace_clock", &buf, &name);
	buffer->clock = clock_id(name);
}

/* A clock that cannot be set is no reason to record nothing: the trace says which one it has. */
static void choose_clock(struct orma_ftrace_buffer *buffer, bool wants_mono_raw,
			 struct orma_ftrace_report *report)
{
	static const char *const clocks[] = {"mono_raw", "boot", "global", "local"};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str text, current;

	if (orma_tracefs_read(&buffer->fs, "trace_clock", &buf, &text) < 0)
		return;
	for (size_t i = wants_mono_raw ? 0 : 1; i < ORMA_ARRAY_SIZE(clocks); i++) {
		if (!has_clock(text, clocks[i]))
			continue;
		if (orma_tracefs_value(&buffer->fs, "trace_clock", &buf, &current) == 0 &&
		    orma_base_str_is(current, clocks[i]))
			return;
		int r = orma_tracefs_journal_set(&buffer->journal, "trace_clock",
						 orma_base_str(clocks[i]));
		if (r < 0)
			orma_ftrace_report_problem(report, "cannot set the clock \"%s\": %s",
						   clocks[i], orma_base_error_words(r));
		return;
	}
}

/* --- the size --------------------------------------------------------------------------------- */

static uint64_t page_kb(void)
{
	return (uint64_t)ORMA_MAX(sysconf(_SC_PAGESIZE) / 1024, 1L);
}

static void read_size(struct orma_ftrace_buffer *buffer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str text;
	uint64_t kb = 0;

	int r = orma_tracefs_value(&buffer->fs, "buffer_size_kb", &buf, &text);
	if (r == 0)
		(void)orma_probes_text_u64(text, &kb);
	/* The CPUs have different sizes. */
	for (uint32_t cpu = 0; r == -EBADMSG && cpu < buffer->cpu_count; cpu++)
		kb = ORMA_MAX(kb, orma_tracefs_buffer_kb(&buffer->fs, cpu));
	uint64_t pages = ORMA_MIN((kb + page_kb() - 1) / page_kb(), (uint64_t)UINT32_MAX);
	buffer->actual_pages = ORMA_MAX((uint32_t)pages, 1u);
}

/* Where the CPUs have different sizes, each is saved before one size is set for all. */
static int save_sizes(struct orma_ftrace_buffer *buffer)
{
	for (uint32_t cpu = 0; cpu < buffer->cpu_count; cpu++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
		char file[ORMA_PROBES_PATH_BYTES];
		struct orma_str size;

		orma_probes_path(file, "per_cpu/cpu", cpu, "/buffer_size_kb");
		int r = orma_tracefs_value(&buffer->fs, file, &buf, &size);
		if (r == 0)
			r = orma_tracefs_journal_set_from(&buffer->journal, file, size, size);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static int set_size(struct orma_ftrace_buffer *buffer, const char *kb_text)
{
	int r = orma_tracefs_journal_set(&buffer->journal, "buffer_size_kb",
					 orma_base_str(kb_text));

	if (r != -EBADMSG)
		return r;
	r = save_sizes(buffer);
	return r < 0 ? r
		     : orma_tracefs_write(&buffer->fs, "buffer_size_kb", orma_base_str(kb_text));
}

static void choose_size(struct orma_ftrace_buffer *buffer,
			const struct orma_pb_ftrace_config *wanted,
			struct orma_ftrace_report *report)
{
	uint64_t ram_bytes = (uint64_t)ORMA_MAX(sysconf(_SC_PHYS_PAGES), 0L) * page_kb() * 1024;
	uint64_t kb = orma_ftrace_config_buffer_kb(wanted, ram_bytes);
	char text[32];

	kb = ORMA_MAX(kb / page_kb(), UINT64_C(1)) * page_kb();
	snprintf(text, sizeof(text), "%llu", (unsigned long long)kb);
	int r = set_size(buffer, text);
	if (r < 0)
		orma_ftrace_report_problem(report,
					   "cannot make the kernel's buffers %s KiB large: %s; "
					   "they stay as they are",
					   text, orma_base_error_words(r));
	else
		buffer->asked_pages = (uint32_t)ORMA_MIN(kb / page_kb(), (uint64_t)UINT32_MAX);
}

/* --- taking over ------------------------------------------------------------------------------- */

static uint32_t count_cpus(const struct orma_tracefs *fs)
{
	struct orma_probes_numbers cpus = {0};
	uint32_t count = 0;

	if (orma_probes_dir_numbers(fs->fd, "per_cpu", "cpu", &cpus) == 0 && cpus.count > 0)
		count = cpus.items[cpus.count - 1] + 1;
	orma_probes_numbers_done(&cpus);
	return count;
}

static int take_over(struct orma_ftrace_buffer *buffer, const struct orma_pb_ftrace_config *wanted,
		     struct orma_ftrace_report *report)
{
	int r = orma_ftrace_events_new(buffer->fs.path, &buffer->events);

	if (r < 0)
		return r;
	buffer->cpu_count = count_cpus(&buffer->fs);
	if (!wanted->preserve_ftrace_buffer) {
		r = switch_off(buffer, report);
		if (r < 0)
			return r;
		choose_clock(buffer, wanted->use_monotonic_raw_clock, report);
		choose_size(buffer, wanted, report);
	}
	read_clock(buffer);
	read_size(buffer);
	return 0;
}

static void release(struct orma_ftrace_buffer *buffer)
{
	ORMA_ASSERT(orma_base_list_is_empty(&buffer->sessions) && buffer->started_count == 0);
	struct orma_ftrace_machine *machine = buffer->machine;
	orma_ftrace_drain_stop(buffer);
	orma_tracefs_journal_close(&buffer->journal);
	orma_ftrace_events_free(buffer->events);
	orma_tracefs_close(&buffer->fs);
	orma_base_list_remove(&buffer->link);
	orma_base_free(buffer);
	if (orma_base_list_is_empty(&machine->buffers))
		orma_ftrace_dynamic_events_close(machine);
}

static void open_state_folder(struct orma_ftrace_machine *machine)
{
	if (machine->state_folder_fd >= 0)
		return;
	machine->state_folder_fd = orma_tracefs_state_folder_open(machine->state_path, true);
	if (machine->state_folder_fd < 0)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: no place for a state file (%s): tracefs will not be "
			      "restored if this process is killed",
			      orma_base_error_words(machine->state_folder_fd));
}

static int open_folder(struct orma_ftrace_buffer *buffer, bool must_be_unused,
		       struct orma_error *reterr)
{
	struct orma_ftrace_machine *machine = buffer->machine;
	struct orma_str instance = orma_base_str(buffer->instance);
	char state_name[ORMA_TRACEFS_FILE_BYTES];
	int r = orma_tracefs_open(machine->tracefs_path, instance, &buffer->fs, reterr);

	if (r == 0)
		open_state_folder(machine);
	/* The journal comes first: it restores what a killed process has left, which looks like somebody's use. */
	if (r == 0)
		r = orma_tracefs_journal_open(
			&buffer->journal, &buffer->fs, machine->state_folder_fd,
			orma_tracefs_state_name(state_name, instance), machine->proc_path, reterr);
	if (r == 0 && must_be_unused)
		r = orma_tracefs_check_unused(&buffer->fs, machine->proc_path, reterr);
	return r;
}

static int open_buffer(struct orma_ftrace_machine *machine,
		       const struct orma_pb_ftrace_config *wanted,
		       struct orma_ftrace_report *report, struct orma_ftrace_buffer **ret)
{
	struct orma_error error = {0};
	struct orma_ftrace_buffer *buffer = orma_base_zalloc(sizeof(*buffer));

	if (!buffer)
		return -ENOMEM;
	buffer->machine = machine;
	buffer->fs.fd = buffer->drainer.clock_fd = -1;
	snprintf(buffer->instance, sizeof(buffer->instance), "%.*s",
		 (int)wanted->instance_name.size, wanted->instance_name.data);
	orma_base_list_init(&buffer->sessions);
	orma_base_list_init(&buffer->drainer.served);
	orma_base_list_init(&buffer->drainer.waiting);
	orma_base_list_append(&machine->buffers, &buffer->link);
	int r = open_folder(buffer, !wanted->preserve_ftrace_buffer, &error);
	if (r < 0)
		orma_ftrace_report_problem(report, "%s; nothing is recorded", error.message);
	else
		r = take_over(buffer, wanted, report);
	if (r < 0)
		release(buffer);
	else
		*ret = buffer;
	return r;
}

static int join(struct orma_ftrace_buffer *buffer, const struct orma_ftrace_config *config,
		struct orma_ftrace_report *report)
{
	const char *why = NULL;

	if (buffer->is_exclusive)
		why = "another session that uses exclusive features (tids_to_trace, "
		      "tracefs_options, tracing_cpumask) is active; nothing is recorded";
	else if (config->has_exclusive_features)
		why = "tids_to_trace, tracefs_options and tracing_cpumask need ftrace alone, and "
		      "another session is active; nothing is recorded";
	if (!why)
		return 0;
	orma_ftrace_report_exclusive(report, why);
	return -EBUSY;
}

int orma_ftrace_buffer_get(struct orma_ftrace_machine *machine,
			   const struct orma_ftrace_config *config,
			   struct orma_ftrace_report *report, struct orma_ftrace_buffer **ret)
{
	const struct orma_pb_ftrace_config *wanted = config->wanted;
	struct orma_ftrace_buffer *buffer;

	if (wanted->instance_name.size > 0 && !orma_tracefs_is_name(wanted->instance_name)) {
		orma_ftrace_report_problem(report,
					   "instance_name: \"%.*s\" is not the name of an "
					   "instance; nothing is recorded",
					   (int)ORMA_MIN(wanted->instance_name.size, (size_t)64),
					   wanted->instance_name.data);
		return -EINVAL;
	}
	ORMA_LIST_FOR_EACH (buffer, &machine->buffers, link) {
		if (!orma_base_str_is(wanted->instance_name, buffer->instance))
			continue;
		int r = join(buffer, config, report);
		if (r == 0)
			*ret = buffer;
		return r;
	}
	return open_buffer(machine, wanted, report, ret);
}

void orma_ftrace_buffer_put(struct orma_ftrace_buffer *buffer)
{
	if (orma_base_list_is_empty(&buffer->sessions))
		release(buffer);
}

/* --- after a crash ----------------------------------------------------------------------------- */

static void recover(struct orma_ftrace_machine *machine, struct orma_str instance)
{
	struct orma_tracefs_journal journal = {.state_fd = -1};
	char state_name[ORMA_TRACEFS_FILE_BYTES];
	struct orma_tracefs fs = {.fd = -1};

	/* A folder that cannot be opened now is restored by its next session. */
	if (orma_tracefs_open(machine->tracefs_path, instance, &fs, NULL) < 0)
		return;
	if (orma_tracefs_journal_open(&journal, &fs, machine->state_folder_fd,
				      orma_tracefs_state_name(state_name, instance),
				      machine->proc_path, NULL) == 0)
		orma_tracefs_journal_close(&journal);
	orma_tracefs_close(&fs);
}

void orma_ftrace_buffers_recover(struct orma_ftrace_machine *machine)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};

	if (machine->state_folder_fd < 0)
		machine->state_folder_fd =
			orma_tracefs_state_folder_open(machine->state_path, false);
	if (machine->state_folder_fd < 0 ||
	    orma_probes_dir_names(machine->state_folder_fd, ".", &names) < 0)
		return;
	bool has_dynamic_events = false;
	for (size_t at = 0; at < names.size; at += strlen((char *)names.data + at) + 1) {
		struct orma_str name = orma_base_str((char *)names.data + at), kind;

		if (orma_base_str_is(name, "root"))
			recover(machine, (struct orma_str){0});
		else if (orma_probes_text_until(&name, '.', &kind) &&
			 orma_base_str_is(kind, "instance"))
			recover(machine, name);
		else if (orma_base_str_is(name, ORMA_FTRACE_DYNAMIC_EVENTS_STATE))
			has_dynamic_events = true;
	}
	/* After the buffers, which use them. */
	if (has_dynamic_events && orma_ftrace_dynamic_events_open(machine, NULL) == 0)
		orma_ftrace_dynamic_events_close(machine);
}
