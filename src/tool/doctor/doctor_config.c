/* SPDX-License-Identifier: Apache-2.0
 * doctor_config.c - examines a config: finds refusals, unknown names, and buffers of the wrong
 * size.
 *
 * The service's own check (config_check.h) decides what would be refused, on a service that nothing
 * is connected to. So the doctor and the daemon never disagree, and nothing is started. A daemon
 * may still refuse more: it knows the other sessions, and the rights of its users.
 *
 * Rejected: starting the session for a moment, because output_path would create a file and other
 * programs would record.
 */
#include <errno.h>
#include <inttypes.h>
#include <orma/service.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/ftrace_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/config/config_check.h"
#include "tool/daemon/compress_worker.h"
#include "tool/daemon/file_worker.h"
#include "tool/daemon/regex_pcre2.h"
#include "tool/doctor/doctor.h"
#include "tool/doctor/event_names.h"
#include "tool/doctor/system_files.h"
#include "tool/record/record.h"
#include "tool/record/record_categories.h"

/* About what one context switch takes in a trace, with the waking that precedes it: in the compact
 * form (14 bytes in a trace of an idle machine, and packet headers), and as messages with names. */
#define COMPACT_SWITCH_BYTES 16u
#define PLAIN_SWITCH_BYTES   100u

struct subject {
	const struct orma_pb_trace_config *config;
	const char *root;
	const struct orma_doctor_daemon *daemon;
	struct orma_arena arena;
};

/* --- refusals --------------------------------------------------------------------------------- */

static int allow_priority(void *ctx, enum orma_priority_policy policy, uint32_t priority)
{
	(void)ctx;
	(void)policy;
	(void)priority;
	return 0;
}

static int check_as_service(const struct orma_pb_trace_config *config, struct orma_error *reterr)
{
	/* The check reads only which codecs there are, so the functions need no worker. */
	const struct orma_compressor_ops compressor_ops = orma_compress_worker_ops();
	const struct orma_service_options options = {
		.struct_size = sizeof(options),
		.file_ops = &orma_file_worker_ops,
		.regex_ops = orma_tool_regex_ops,
		.compressor_ops = &compressor_ops,
		.set_priority = allow_priority,
	};
	const struct orma_consumer_info info = {.struct_size = sizeof(info), .uid = geteuid()};
	const struct orma_consumer_callbacks callbacks = {.struct_size = sizeof(callbacks)};
	bool needs_file = config->write_into_file && config->output_path.size == 0;
	struct orma_service *service = NULL;
	struct orma_consumer_port *port = NULL;
	int fd = needs_file ? orma_base_memfd_new("doctor", 0) : -1;
	int r = needs_file && fd < 0 ? fd : orma_service_new(&options, &service);

	if (r == 0)
		r = orma_consumer_port_open(service, &info, &callbacks, NULL, &port);
	if (r == 0)
		r = orma_service_config_check(service, port, config, fd, reterr);
	orma_consumer_port_close(port);
	orma_service_free(service);
	orma_base_fd_close(fd);
	return r;
}

static void report_refusal(const struct subject *subject, struct orma_findings *findings)
{
	struct orma_error error = {0};
	int r = check_as_service(subject->config, &error);

	if (r == 0)
		return;
	orma_findings_add(findings, "refused", "A service would refuse the config: %s.",
			  error.message[0] ? error.message : strerror(-r));
	orma_findings_advise(findings, "config.md, which is installed with orma, describes the "
				       "limits of each field.");
}

/* --- names ------------------------------------------------------------------------------------ */

static void report_event(struct subject *subject, const char *name, struct orma_findings *findings)
{
	const char *closest;
	enum orma_doctor_event result =
		orma_doctor_find_event(subject->root, name, &subject->arena, &closest);

	if (result == ORMA_DOCTOR_EVENT_KNOWN)
		return;
	if (result == ORMA_DOCTOR_EVENT_MISSING)
		orma_findings_add(findings, "unknown_event",
				  "This kernel has no ftrace event \"%s\".", name);
	else if (closest)
		orma_findings_add(findings, "unknown_event",
				  "\"%s\" is probably not an ftrace event.", name);
	else
		orma_findings_add_note(findings, "unknown_event",
				       "orma does not know the ftrace event \"%s\"; root can see "
				       "whether this kernel has it.",
				       name);
	if (closest)
		orma_findings_advise(findings, "Did you mean \"%s\"?", closest);
}

static void report_events(struct subject *subject, const struct orma_pb_ftrace_config *ftrace,
			  struct orma_findings *findings)
{
	for (size_t i = 0; ftrace && i < ftrace->ftrace_events.count; i++) {
		char *name =
			orma_base_arena_strdup(&subject->arena, ftrace->ftrace_events.items[i]);
		if (name)
			report_event(subject, name, findings);
	}
}

static void report_category(void *ctx, const char *wanted, const char *closest)
{
	struct orma_findings *findings = ctx;

	orma_findings_add(findings, "unknown_category",
			  "No connected program has declared the category \"%s\".", wanted);
	if (closest)
		orma_findings_advise(findings, "Did you mean \"%s\"?", closest);
	else
		orma_findings_advise(findings, "`orma status --long` lists the categories.");
}

static void report_categories(struct subject *subject,
			      const struct orma_pb_track_event_config *config,
			      struct orma_findings *findings)
{
	ORMA_AUTO(orma_record_categories_done) struct orma_record_categories names = {0};

	orma_record_categories_add(&names, subject->daemon->state);
	orma_record_find_unknown_categories(&names, config, report_category, findings);
}

static void report_not_offered(const char *name, struct orma_findings *findings)
{
	orma_findings_add(findings, "source_not_offered",
			  "No program offers the data source \"%s\" to the daemon.", name);
	if (strncmp(name, "linux.", 6) == 0)
		orma_findings_advise(findings,
				     "Start this machine's: sudo orma probes --background");
	else
		orma_findings_advise(findings, "It is recorded from when a program that has it "
					       "connects.");
}

static void report_source(struct subject *subject, const struct orma_pb_data_source_config *source,
			  struct orma_findings *findings)
{
	const char *closest;
	char *name = orma_base_arena_strdup(&subject->arena, source->name);

	if (!name)
		return;
	if (!orma_doctor_is_known_source(subject->daemon, name, &subject->arena, &closest)) {
		orma_findings_add(findings, "unknown_source", "\"%s\" is not a known data source.",
				  name);
		if (closest)
			orma_findings_advise(findings, "Did you mean \"%s\"?", closest);
		else
			orma_findings_advise(findings, "`orma status` lists the data sources.");
	} else if (subject->daemon->state &&
		   !orma_doctor_daemon_offers(subject->daemon, source->name)) {
		report_not_offered(name, findings);
	}
	if (orma_base_str_is(source->name, "linux.ftrace"))
		report_events(subject, source->ftrace_config, findings);
	if (subject->daemon->state)
		report_categories(subject, source->track_event_config, findings);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void report_memory(const struct subject *subject, struct orma_findings *findings)
{
	uint64_t available_kb, total_kb = 0;

	for (size_t i = 0; i < subject->config->buffers.count; i++)
		total_kb += subject->config->buffers.items[i]->size_kb;
	if (!orma_system_file_find_u64(subject->root, "/proc/meminfo",
				       "MemAvailable:", &available_kb) ||
	    total_kb <= available_kb)
		return;
	orma_findings_add(findings, "buffers_exceed_memory",
			  "The buffers have %" PRIu64 " KB, and this machine has %" PRIu64
			  " KB of memory available.",
			  total_kb, available_kb);
	orma_findings_advise(findings,
			     "Use smaller buffers, and write_into_file to keep everything.");
}

static bool records_switches(const struct orma_pb_ftrace_config *ftrace)
{
	for (size_t i = 0; ftrace && i < ftrace->ftrace_events.count; i++) {
		struct orma_str name = ftrace->ftrace_events.items[i];
		if (orma_base_str_is(name, "sched/sched_switch") ||
		    orma_base_str_is(name, "sched_switch") || orma_base_str_is(name, "sched/*"))
			return true;
	}
	return false;
}

/* Returns the average of context switches per second since the machine was started; 0 = unknown. */
static uint64_t switches_per_second(const char *root)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	uint64_t switches, seconds = 0;

	if (orma_system_file_read(root, "/proc/uptime", &content) ||
	    !orma_system_file_find_u64(root, "/proc/stat", "ctxt", &switches))
		return 0;
	for (size_t i = 0; i < content.size && content.data[i] >= '0' && content.data[i] <= '9';
	     i++)
		seconds = seconds * 10 + (content.data[i] - '0') % 10u;
	return seconds ? switches / seconds : 0;
}

static void report_switches(const struct subject *subject,
			    const struct orma_pb_data_source_config *source,
			    struct orma_findings *findings)
{
	const struct orma_pb_trace_config *config = subject->config;
	const struct orma_pb_ftrace_config *ftrace = source->ftrace_config;
	uint64_t rate = switches_per_second(subject->root);
	uint32_t idx = source->target_buffer;

	if (!records_switches(ftrace) || rate == 0 || config->duration_ms == 0 ||
	    config->write_into_file || idx >= config->buffers.count)
		return;
	bool is_plain =
		ftrace->compact_sched &&
		orma_pb_ftrace_config_compact_sched_config_has_enabled(ftrace->compact_sched) &&
		!ftrace->compact_sched->enabled;
	uint64_t bytes = rate * (is_plain ? PLAIN_SWITCH_BYTES : COMPACT_SWITCH_BYTES);
	uint64_t size_kb = config->buffers.items[idx]->size_kb;
	uint64_t wanted_kb = bytes * (config->duration_ms / 1000) / 1024;
	if (wanted_kb <= size_kb || size_kb == 0)
		return;
	orma_findings_add(findings, "buffer_small",
			  "buffers[%u] (%" PRIu64 " KB) holds about %.1f of %.1f s: this machine "
			  "switches %" PRIu64 " times per second on average, which takes %" PRIu64
			  " KB/s.",
			  idx, size_kb, (double)size_kb * 1024 / (double)bytes,
			  config->duration_ms / 1000.0, rate, bytes / 1024);
	orma_findings_advise(findings,
			     "size_kb: %" PRIu64 " holds all of it; write_into_file: true keeps it "
			     "in the file.",
			     wanted_kb * 5 / 4);
}

void orma_doctor_examine_config(const char *path, const char *root,
				const struct orma_doctor_daemon *daemon,
				struct orma_findings *findings)
{
	struct orma_record_wish wish = {.config_path = path};
	struct orma_record_config made = {0};
	struct orma_pb_trace_config *config;
	struct subject subject = {.root = root, .daemon = daemon};
	struct orma_error error = {0};
	int r = orma_record_config_make(&wish, &made, &error);

	if (r == 0)
		r = orma_proto_decode(&orma_pb_trace_config_desc, made.bytes.data, made.bytes.size,
				      &subject.arena, &config);
	if (r) {
		/* Print the first line only. The following lines of the message show the text. */
		const char *text = error.message[0] ? error.message : strerror(-r);
		orma_findings_add(findings, "unreadable", "The config cannot be read: %.*s.",
				  (int)strcspn(text, "\n"), text);
	} else {
		subject.config = config;
		report_refusal(&subject, findings);
		if (config->data_sources.count == 0 && made.trigger_count == 0) {
			orma_findings_add(findings, "no_source",
					  "The config names no data source.");
			orma_findings_advise(findings, "`orma record --print-config` prints an "
						       "example.");
		}
		report_memory(&subject, findings);
		for (size_t i = 0; i < config->data_sources.count; i++)
			if (config->data_sources.items[i]->config) {
				report_source(&subject, config->data_sources.items[i]->config,
					      findings);
				report_switches(&subject, config->data_sources.items[i]->config,
						findings);
			}
	}
	orma_base_arena_done(&subject.arena);
	orma_record_config_done(&made);
}
