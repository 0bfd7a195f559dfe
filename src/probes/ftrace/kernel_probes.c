/* SPDX-License-Identifier: Apache-2.0
 * kernel_probes.c - kprobe_events: probes that a session puts on functions of the kernel.
 *
 * Owns nothing. A probe is an entry of the list kprobe_events; its journal entry removes it. Its group has upstream's name,
 * from which readers know it: perfetto_kprobes for entries, perfetto_kretprobes for returns. The events are enabled after
 * the probes were made, so restoring disables them first; the kernel refuses to remove a probe in use. Sessions that name
 * the same function share the probe. Probes stay until the buffer is given up, because the kernel empties the buffer when
 * it removes one.
 *
 * The name goes into a line of a language of the kernel, so only letters, digits, "_" and "." pass: those of a symbol.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "schema/gen/ftrace_generic.pb.h"

/* How many calls of a function may be under way at once; the kernel misses the returns of more. */
#define RETURNS_MAX "1024"

struct probe_kind {
	const char *group, *prefix;
};

static const struct probe_kind entry_kind = {"perfetto_kprobes", "p"};
static const struct probe_kind return_kind = {"perfetto_kretprobes", "r" RETURNS_MAX};

static bool is_symbol(struct orma_str name)
{
	return orma_tracefs_is_name(name) && !memchr(name.data, '-', name.size) &&
	       !memchr(name.data, ':', name.size);
}

/* The kernel makes dots of a symbol to underscores in the name of an event only if it chooses the name itself. */
static void event_name(struct orma_str symbol, char ret[ORMA_TRACEFS_NAME_BYTES])
{
	for (size_t i = 0; i < symbol.size; i++)
		ret[i] = symbol.data[i] == '.' ? '_' : symbol.data[i];
	ret[symbol.size] = '\0';
}

static int make_probe(struct orma_ftrace_buffer *buffer, const struct probe_kind *kind,
		      struct orma_str symbol, const char *event)
{
	char line[ORMA_TRACEFS_FILE_BYTES + ORMA_TRACEFS_NAME_BYTES], undo[ORMA_TRACEFS_FILE_BYTES];
	char file[ORMA_TRACEFS_FILE_BYTES];

	/* Another session has made it, or somebody else, whose probe stays. */
	orma_tracefs_event_file(file, orma_base_str(kind->group), orma_base_str(event), "format");
	if (orma_tracefs_is_readable(&buffer->fs, file))
		return 0;
	snprintf(line, sizeof(line), "%s:%s/%s %.*s", kind->prefix, kind->group, event,
		 (int)symbol.size, symbol.data);
	snprintf(undo, sizeof(undo), "-:%s/%s", kind->group, event);
	return orma_tracefs_journal_append(&buffer->journal, "kprobe_events", orma_base_str(line),
					   orma_base_str(undo));
}

static int add_probe(struct orma_ftrace_session *session, const struct probe_kind *kind,
		     struct orma_str symbol, int32_t type)
{
	const struct orma_ftrace_event *event;
	char name[ORMA_TRACEFS_NAME_BYTES];

	event_name(symbol, name);
	int r = make_probe(session->buffer, kind, symbol, name);
	if (r == 0)
		r = orma_ftrace_events_load_kprobe(session->buffer->events, kind->group, name,
						   &event);
	if (r == 0)
		r = orma_ftrace_sink_set_kprobe_type(session->sink, event->id, type);
	if (r == 0) {
		orma_ftrace_session_add_event(session, event);
		session->has_kprobes = true;
	} else if (r != -ENOMEM) {
		orma_ftrace_report_failed(&session->report, orma_base_str(kind->group),
					  orma_base_str(name),
					  r == -ENOENT ? "the kernel has no such function that can "
							 "be probed"
						       : orma_base_error_words(r));
	}
	return r == -ENOMEM ? r : 0;
}

#define KIND(name) ORMA_PB_FTRACE_CONFIG_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_##name
#define TYPE(name) ORMA_PB_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_##name

int orma_ftrace_session_add_probes(struct orma_ftrace_session *session)
{
	const struct orma_pb_ftrace_config *wanted = session->config.wanted;
	int r = 0;

	for (size_t i = 0; i < wanted->kprobe_events.count && r == 0; i++) {
		const struct orma_pb_ftrace_config_kprobe_event *probe =
			wanted->kprobe_events.items[i];
		bool is_both = probe->type == KIND(BOTH);

		if (!is_symbol(probe->probe) ||
		    (!is_both && probe->type != KIND(KPROBE) && probe->type != KIND(KRETPROBE))) {
			orma_ftrace_report_failed(&session->report, orma_base_str(entry_kind.group),
						  probe->probe,
						  "kprobe_events needs the name of a function in "
						  "probe, and a type");
			continue;
		}
		if (is_both || probe->type == KIND(KPROBE))
			r = add_probe(session, &entry_kind, probe->probe,
				      is_both ? TYPE(BEGIN) : TYPE(INSTANT));
		if (r == 0 && (is_both || probe->type == KIND(KRETPROBE)))
			r = add_probe(session, &return_kind, probe->probe,
				      is_both ? TYPE(END) : TYPE(INSTANT));
	}
	return r;
}
