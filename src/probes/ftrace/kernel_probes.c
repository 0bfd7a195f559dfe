/* SPDX-License-Identifier: Apache-2.0
 * kernel_probes.c - kprobe_events: probes that a session puts on functions of the kernel, and of programs.
 *
 * Owns nothing. A probe is an entry of the list kprobe_events, which all buffers share (dynamic_events.c). Its group has
 * upstream's name, from which readers know it: perfetto_kprobes for entries, perfetto_kretprobes for returns. A probe whose
 * name begins with a slash is on a program or library, "PATH:FUNCTION" or "PATH:0xOFFSET", and goes to uprobe_events;
 * upstream has none. The events are enabled after the probes were made, so restoring disables them first.
 *
 * An event is called after its function, in programs FILE_FUNCTION, since two libraries may have functions of one name. Two
 * files may have one name too. So a name that the list has for another place is followed by "_2", "_3" and so on, and a name
 * that it has for the same place is shared: with other sessions, and with somebody else, whose probe stays.
 *
 * Names go into a line of a language of the kernel, so only letters, digits, "_" and "." pass in a symbol, and no spaces,
 * quotes or control characters in a path.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/ftrace/elf_symbol.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"
#include "schema/gen/ftrace_generic.pb.h"

/* How many probes on different places may have one name. */
#define NAMESAKES_MAX 16
/* All that one config may have read of programs: a tenth of a second, if it is in memory. */
#define PROGRAM_BYTES_MAX (UINT64_C(256) << 20)
/* How many calls of a function may be under way at once; the kernel misses the returns of more. */
#define RETURNS_MAX "1024"

struct probe_kind {
	const char *group, *prefix, *list;
};

static const struct probe_kind kernel_entry = {"perfetto_kprobes", "p", "kprobe_events"};
static const struct probe_kind kernel_return = {"perfetto_kretprobes", "r" RETURNS_MAX,
						"kprobe_events"};
static const struct probe_kind program_entry = {"perfetto_uprobes", "p", "uprobe_events"};
static const struct probe_kind program_return = {"perfetto_uretprobes", "r", "uprobe_events"};

/* Where a probe is, and how its event is called if nothing else has that name. */
struct place {
	char target[ORMA_TRACEFS_FILE_BYTES]; /* "vfs_read", "/bin/sh:0x1234" */
	char event[ORMA_TRACEFS_NAME_BYTES];
	bool is_in_kernel;
};

static bool is_symbol(struct orma_str name)
{
	return orma_tracefs_is_name(name) && !memchr(name.data, '-', name.size) &&
	       !memchr(name.data, ':', name.size);
}

static bool is_path(struct orma_str path)
{
	for (size_t i = 0; i < path.size; i++)
		if (path.data[i] <= ' ' || path.data[i] > '~' || strchr("\"'`\\:", path.data[i]))
			return false;
	return path.size > 1 && path.data[0] == '/';
}

/* The name of an event is one of C. */
static void to_event_name(char *name)
{
	for (; *name; name++)
		if (*name == '.' || *name == '-' || *name == '+')
			*name = '_';
}

/* Reads "PATH:FUNCTION" or "PATH:0xOFFSET". */
static int find_in_program(struct orma_str text, uint64_t *bytes_left, struct place *ret)
{
	char path[ORMA_TRACEFS_FILE_BYTES];
	struct orma_str function = text, file = {0}, part;
	uint64_t offset = 0;

	if (!orma_probes_text_until(&function, ':', &file) || !is_path(file) ||
	    !is_symbol(function) || file.size >= sizeof(path))
		return -EINVAL;
	snprintf(path, sizeof(path), "%.*s", (int)file.size, file.data);
	int r = 0;
	if (orma_probes_text_has_prefix(function, "0x"))
		r = orma_probes_text_hex64(function, &offset) ? 0 : -EINVAL;
	else
		r = orma_elf_find_function(path, function, bytes_left, &offset);
	if (r < 0)
		return r;
	while (orma_probes_text_until(&file, '/', &part))
		;
	int target = snprintf(ret->target, sizeof(ret->target), "%s:0x%llx", path,
			      (unsigned long long)offset);
	int event = snprintf(ret->event, sizeof(ret->event), "%.*s_%.*s", (int)file.size, file.data,
			     (int)function.size, function.data);
	if (target < 0 || (size_t)target >= sizeof(ret->target) || event < 0 ||
	    (size_t)event >= sizeof(ret->event))
		return -ENAMETOOLONG;
	to_event_name(ret->event);
	return is_symbol(orma_base_str(ret->event)) ? 0 : -EINVAL;
}

static int find_place(struct orma_str text, uint64_t *bytes_left, struct place *ret)
{
	*ret = (struct place){.is_in_kernel = text.size == 0 || text.data[0] != '/'};
	if (!ret->is_in_kernel)
		return find_in_program(text, bytes_left, ret);
	if (!is_symbol(text))
		return -EINVAL;
	snprintf(ret->target, sizeof(ret->target), "%.*s", (int)text.size, text.data);
	snprintf(ret->event, sizeof(ret->event), "%.*s", (int)text.size, text.data);
	to_event_name(ret->event);
	return 0;
}

/* Compares "vfs_read", or "/bin/sh:0x1234" with "/bin/sh:0x0000000000001234", as the kernel shows it. */
static bool is_same_target(struct orma_str a, struct orma_str b)
{
	struct orma_str a_path = {0}, b_path = {0};
	uint64_t a_offset = 0, b_offset = 0;

	if (orma_probes_text_until(&a, ':', &a_path) && orma_probes_text_until(&b, ':', &b_path))
		return orma_base_str_is_equal(a_path, b_path) &&
		       orma_probes_text_hex64(a, &a_offset) &&
		       orma_probes_text_hex64(b, &b_offset) && a_offset == b_offset;
	return orma_base_str_is_equal(a, b);
}

/* Whether the list has the line "p:GROUP/NAME TARGET"; a return probe's begins with "r1024:". */
static bool is_listed(const struct orma_tracefs *root, const struct probe_kind *kind,
		      struct orma_str group_and_name, struct orma_str target)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str rest, line, letter, event, listed;

	if (orma_tracefs_read(root, kind->list, &buf, &rest) < 0)
		return false;
	while (orma_probes_text_line(&rest, &line))
		if (orma_probes_text_until(&line, ':', &letter) && letter.size > 0 &&
		    letter.data[0] == kind->prefix[0] && orma_probes_text_word(&line, &event) &&
		    orma_base_str_is_equal(event, group_and_name) &&
		    orma_probes_text_word(&line, &listed) && is_same_target(listed, target))
			return true;
	return false;
}

/* Finds a name that is free, or that this place already has. Returns whether the probe exists. */
static int choose_name(struct orma_ftrace_buffer *buffer, const struct probe_kind *kind,
		       const struct place *place, char ret[ORMA_TRACEFS_NAME_BYTES])
{
	for (unsigned n = 1; n <= NAMESAKES_MAX; n++) {
		char file[ORMA_TRACEFS_FILE_BYTES], path[ORMA_TRACEFS_FILE_BYTES], number[8] = "";

		if (n > 1)
			snprintf(number, sizeof(number), "_%u", n);
		int size = snprintf(ret, ORMA_TRACEFS_NAME_BYTES, "%s%s", place->event, number);
		if (size < 0 || size >= ORMA_TRACEFS_NAME_BYTES)
			return -ENAMETOOLONG;
		orma_tracefs_event_file(file, orma_base_str(kind->group), orma_base_str(ret),
					"format");
		if (!orma_tracefs_is_readable(&buffer->fs, file))
			return 0;
		snprintf(path, sizeof(path), "%s/%s", kind->group, ret);
		if (is_listed(&buffer->machine->root, kind, orma_base_str(path),
			      orma_base_str(place->target)))
			return 1;
	}
	return -EEXIST;
}

static int make_probe(struct orma_ftrace_buffer *buffer, const struct probe_kind *kind,
		      const struct place *place, char ret_name[ORMA_TRACEFS_NAME_BYTES],
		      struct orma_error *reterr)
{
	char line[ORMA_TRACEFS_FILE_BYTES * 2 + ORMA_TRACEFS_NAME_BYTES];
	char undo[ORMA_TRACEFS_FILE_BYTES];
	int r = orma_ftrace_dynamic_events_open(buffer->machine, reterr);

	if (r < 0)
		return r;
	r = choose_name(buffer, kind, place, ret_name);
	if (r == 0) {
		snprintf(line, sizeof(line), "%s:%s/%s %s", kind->prefix, kind->group, ret_name,
			 place->target);
		snprintf(undo, sizeof(undo), "-:%s/%s", kind->group, ret_name);
		r = orma_tracefs_journal_append(&buffer->machine->dynamic_events, kind->list,
						orma_base_str(line), orma_base_str(undo));
	}
	/* Some kernels say the one, some the other. */
	bool is_missing = place->is_in_kernel && (r == -ENOENT || r == -EINVAL);
	if (r < 0)
		orma_base_error_set(reterr, r, "%s",
				    is_missing
					    ? "the kernel has no such function that can be probed"
					    : orma_base_error_words(r));
	return r < 0 ? r : 0;
}

static int add_probe(struct orma_ftrace_session *session, const struct probe_kind *kind,
		     const struct place *place, int32_t type)
{
	const struct orma_ftrace_event *event;
	char name[ORMA_TRACEFS_NAME_BYTES] = "";
	struct orma_error error = {0};
	int r = make_probe(session->buffer, kind, place, name, &error);

	if (r == 0) {
		r = orma_ftrace_events_load_kprobe(session->buffer->events, kind->group, name,
						   &event);
		if (r == 0)
			r = orma_ftrace_sink_set_kprobe_type(session->sink, event->id, type);
		if (r < 0)
			orma_base_error_set(&error, r, "%s", orma_base_error_words(r));
	}
	if (r == 0) {
		orma_ftrace_session_add_event(session, event);
		session->has_kprobes = session->has_kprobes || place->is_in_kernel;
	} else if (r != -ENOMEM) {
		orma_ftrace_report_failed(&session->report, orma_base_str(kind->group),
					  orma_base_str(place->event), error.message);
	}
	return r == -ENOMEM ? r : 0;
}

#define KIND(name) ORMA_PB_FTRACE_CONFIG_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_##name
#define TYPE(name) ORMA_PB_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_##name

/* Adds the probes of one entry of the config: on the entry of the function, on its return, or both. */
static int add_entry(struct orma_ftrace_session *session,
		     const struct orma_pb_ftrace_config_kprobe_event *wanted, uint64_t *bytes_left)
{
	struct place place;
	bool is_both = wanted->type == KIND(BOTH);
	int r = find_place(wanted->probe, bytes_left, &place);

	if (r == -ENOMEM)
		return r;
	const struct probe_kind *entry = place.is_in_kernel ? &kernel_entry : &program_entry;
	const struct probe_kind *exit = place.is_in_kernel ? &kernel_return : &program_return;
	if (!is_both && wanted->type != KIND(KPROBE) && wanted->type != KIND(KRETPROBE))
		r = -EINVAL;
	if (r < 0) {
		orma_ftrace_report_failed(
			&session->report, orma_base_str(entry->group), wanted->probe,
			r == -ENODATA  ? "the file has no function of that name"
			: r == -EFBIG  ? "the symbols of the config's programs are too large to be "
					 "searched; use PATH:0xOFFSET"
			: r == -EINVAL ? "kprobe_events needs a type, and in probe the name of a "
					 "function of the kernel, or PATH:FUNCTION of a program"
				       : orma_base_error_words(r));
		return 0;
	}
	if (is_both || wanted->type == KIND(KPROBE))
		r = add_probe(session, entry, &place, is_both ? TYPE(BEGIN) : TYPE(INSTANT));
	if (r == 0 && (is_both || wanted->type == KIND(KRETPROBE)))
		r = add_probe(session, exit, &place, is_both ? TYPE(END) : TYPE(INSTANT));
	return r;
}

int orma_ftrace_session_add_probes(struct orma_ftrace_session *session)
{
	const struct orma_pb_ftrace_config *wanted = session->config.wanted;
	uint64_t bytes_left = PROGRAM_BYTES_MAX;
	int r = 0;

	for (size_t i = 0; i < wanted->kprobe_events.count && r == 0; i++)
		r = add_entry(session, wanted->kprobe_events.items[i], &bytes_left);
	return r;
}
