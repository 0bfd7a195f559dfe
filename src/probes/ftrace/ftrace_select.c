/* SPDX-License-Identifier: Apache-2.0
 * ftrace_select.c - from the names in a config to the kernel's events.
 *
 * Owns nothing. ftrace_events has "group/name", "name" alone, "group/" and a star for all of a
 * group, or a beginning and a star.
 * Other fields imply events: syscall_events the two of raw_syscalls, enable_function_graph the two of the tracer.
 * throttle_rss_stat replaces kmem/rss_stat by an event of its own.
 *
 * A list of system calls of which this machine knows none selects no system call. raw_syscalls is not enabled then, since
 * an empty filter would mean all.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"

/* Groups whose events exist only while a session has made them. */
static bool is_reserved(struct orma_str group)
{
	return orma_probes_text_has_prefix(group, "perfetto_");
}

static bool is_unfiltered(const struct orma_ftrace_session *session, const char *group)
{
	return strcmp(group, "raw_syscalls") != 0 ||
	       !orma_ftrace_syscalls_are_empty(&session->syscalls);
}

/* Similar names are searched for once in each session, because that takes milliseconds and configs may have thousands of events. */
static void report_unknown(struct orma_ftrace_session *session, struct orma_str group,
			   struct orma_str name)
{
	char meant[2 * ORMA_TRACEFS_NAME_BYTES] = "";
	const char *closest, *closest_group;

	if (session->report.unknown_events.size == 0) {
		closest = orma_ftrace_events_closest(session->buffer->events, name, &closest_group);
		if (closest)
			snprintf(meant, sizeof(meant), "%s/%s", closest_group, closest);
	}
	orma_ftrace_report_unknown(&session->report, group, name, meant);
}

static int add(struct orma_ftrace_session *session, const char *group, const char *name)
{
	struct orma_ftrace_report *report = &session->report;
	struct orma_str group_text = orma_base_str(group), name_text = orma_base_str(name);
	const struct orma_ftrace_event *event;

	if (!is_unfiltered(session, group)) {
		orma_ftrace_report_failed(report, group_text, name_text,
					  "syscall_events has no call that this machine has");
		return 0;
	}
	if (session->config.wanted->throttle_rss_stat && strcmp(group, "kmem") == 0 &&
	    strcmp(name, "rss_stat") == 0 && orma_ftrace_session_throttle_rss_stat(session)) {
		group = "synthetic";
		name = "rss_stat_throttled";
	}
	int r = orma_ftrace_events_load(session->buffer->events, group, name, &event);
	if (r == -ENOMEM)
		return r;
	if (r == -ENOENT || r == -EINVAL)
		report_unknown(session, group_text, name_text);
	else if (r < 0)
		orma_ftrace_report_failed(report, group_text, name_text, orma_base_error_words(r));
	else if (session->config.wanted->disable_generic_events &&
		 event->encoding == ORMA_FTRACE_GENERIC)
		orma_ftrace_report_failed(report, group_text, name_text,
					  "disable_generic_events excludes it");
	else {
		orma_ftrace_session_add_event(session, event);
		session->syscalls.is_used |= strcmp(group, "raw_syscalls") == 0;
	}
	return 0;
}

/* Adds the events of a group whose names begin with the pattern before its star. */
static int add_pattern(struct orma_ftrace_session *session, const char *group,
		       struct orma_str pattern)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	size_t found = 0;
	int r = orma_ftrace_events_names_in(session->buffer->events, group, &names);

	if (r == -ENOMEM)
		return r;
	for (size_t at = 0; r == 0 && at < names.size;) {
		const char *name = (const char *)names.data + at;

		at += strlen(name) + 1;
		if (strncmp(name, pattern.data, pattern.size - 1) != 0)
			continue;
		found++;
		r = add(session, group, name);
	}
	if (found == 0)
		report_unknown(session, orma_base_str(group), pattern);
	return r == -ENOMEM ? r : 0;
}

static int add_bare(struct orma_ftrace_session *session, const char *name)
{
	const char *group;
	int r = orma_ftrace_events_group_of(session->buffer->events, name, &group);

	if (r == 0)
		return add(session, group, name);
	if (r == -ENOMEM)
		return r;
	report_unknown(session, (struct orma_str){0}, orma_base_str(name));
	return 0;
}

static int add_entry(struct orma_ftrace_session *session, struct orma_str entry)
{
	char group[ORMA_TRACEFS_NAME_BYTES], name[ORMA_TRACEFS_NAME_BYTES];
	struct orma_str group_text = {0}, name_text = entry;
	bool has_group = orma_probes_text_until(&name_text, '/', &group_text);
	struct orma_str stem = name_text;

	if (has_group && stem.size > 0 && stem.data[stem.size - 1] == '*')
		stem.size--;
	bool is_pattern = stem.size < name_text.size;
	if ((has_group && (!orma_tracefs_is_name(group_text) || is_reserved(group_text))) ||
	    (stem.size > 0 && !orma_tracefs_is_name(stem)) || (stem.size == 0 && !is_pattern)) {
		report_unknown(session, (struct orma_str){0}, entry);
		return 0;
	}
	snprintf(group, sizeof(group), "%.*s", (int)group_text.size,
		 group_text.size > 0 ? group_text.data : "");
	snprintf(name, sizeof(name), "%.*s", (int)name_text.size, name_text.data);
	if (is_pattern)
		return add_pattern(session, group, name_text);
	return has_group ? add(session, group, name) : add_bare(session, name);
}

int orma_ftrace_session_add_events(struct orma_ftrace_session *session)
{
	const struct orma_pb_ftrace_config *wanted = session->config.wanted;
	int r = 0;

	orma_ftrace_syscalls_resolve(wanted, &session->report, &session->syscalls);
	for (size_t i = 0; i < wanted->ftrace_events.count && r == 0; i++)
		r = add_entry(session, wanted->ftrace_events.items[i]);
	orma_ftrace_events_forget_names(session->buffer->events);
	if (r == 0 && wanted->syscall_events.count > 0)
		r = add(session, "raw_syscalls", "sys_enter");
	if (r == 0 && wanted->syscall_events.count > 0)
		r = add(session, "raw_syscalls", "sys_exit");
	if (r == 0 && wanted->enable_function_graph)
		r = add(session, "ftrace", "funcgraph_entry");
	if (r == 0 && wanted->enable_function_graph)
		r = add(session, "ftrace", "funcgraph_exit");
	if (r < 0)
		return r;
	r = orma_ftrace_syscalls_apply(session->buffer);
	if (r < 0)
		orma_ftrace_report_problem(&session->report,
					   "cannot set the filter of system calls: %s; nothing is "
					   "recorded",
					   orma_base_error_words(r));
	return r;
}
