/* SPDX-License-Identifier: Apache-2.0
 * rss_throttle.c - throttle_rss_stat: an event for large changes of a process's memory instead of one for every page.
 *
 * Owns nothing. The kernel compares the sizes itself: a histogram on kmem/rss_stat, by process and kind of memory, in
 * steps of 512 KiB, emits the synthetic event rss_stat_throttled when the step changes. Android defines that event when it
 * boots; elsewhere it is defined here, for all buffers, and removed after the last of them. Where the kernel has no histograms, or somebody has set a
 * trigger on rss_stat, the plain event is recorded, as upstream does it.
 */
#include <errno.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"

#define EVENT        "rss_stat_throttled"
#define DEFINITION   EVENT " unsigned int mm_id; unsigned int curr; int member; long size"
#define TRIGGER_FILE "events/kmem/rss_stat/trigger"
#define TRIGGER                                                                                    \
	"hist:keys=mm_id,member:bucket=size/0x80000:onchange($bucket)." EVENT                      \
	"(mm_id,curr,member,size)"

static bool is_defined(const struct orma_ftrace_buffer *buffer)
{
	return orma_tracefs_is_readable(&buffer->fs, "events/synthetic/" EVENT "/format");
}

/* Comments list the kinds of triggers that exist. */
static bool has_trigger(const struct orma_ftrace_buffer *buffer, const char *text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str rest, line;
	size_t size = strlen(text);

	if (orma_tracefs_read(&buffer->fs, TRIGGER_FILE, &buf, &rest) < 0)
		return false;
	while (orma_probes_text_line(&rest, &line))
		for (size_t i = 0; line.size > 0 && line.data[0] != '#' && i + size <= line.size;
		     i++)
			if (memcmp(line.data + i, text, size) == 0)
				return true;
	return false;
}

bool orma_ftrace_session_throttle_rss_stat(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;
	struct orma_error error = {0};
	int r = 0;

	if (is_defined(buffer) && has_trigger(buffer, EVENT))
		return true;
	if (has_trigger(buffer, "")) {
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: throttle_rss_stat: kmem/rss_stat has a trigger of "
			      "somebody else; every change is recorded");
		return false;
	}
	r = orma_ftrace_dynamic_events_open(buffer->machine, &error);
	if (r < 0) {
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: throttle_rss_stat: %s; every change is recorded",
			      error.message);
		return false;
	}
	if (!is_defined(buffer))
		r = orma_tracefs_journal_append(&buffer->machine->dynamic_events,
						"synthetic_events", ORMA_STR(DEFINITION),
						ORMA_STR("!" EVENT));
	if (r == 0)
		r = orma_tracefs_journal_append(&buffer->journal, TRIGGER_FILE, ORMA_STR(TRIGGER),
						ORMA_STR("!" TRIGGER));
	if (r < 0)
		orma_base_log(
			ORMA_LOG_INFO,
			"linux.ftrace: throttle_rss_stat: this kernel has no histograms; every "
			"change is recorded");
	return r == 0;
}
