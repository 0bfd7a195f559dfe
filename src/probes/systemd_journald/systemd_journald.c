/* SPDX-License-Identifier: Apache-2.0
 * systemd_journald.c - the data source linux.systemd_journald: new entries of the systemd journal.
 *
 * Owns the instances. Each has an open journal with the filters of its session and a watch of the
 * journal's descriptor, which becomes readable when journald has written. Only entries that arrive
 * after the start are recorded. One entry becomes one packet, whose timestamp is the entry's on
 * CLOCK_MONOTONIC. A flush reads what has arrived, and writes a packet that counts the entries so
 * far and those that could not be read.
 *
 * The position: the journal stands at the last entry that was read. It begins at the last entry
 * that matches. If none matches, it begins at the head, because libsystemd finds nothing behind a
 * tail without entries. The watch comes before the position, so no entry falls between them.
 *
 * The loop has other work, so a turn reads a limited number of entries. Fields come from any
 * program: each is written at most once per entry, numbers are checked, and a field is cut at
 * 64 KiB, which libsystemd promises for compressed ones only. If a filter is refused, nothing is recorded, because recording everything could
 * disclose what the session did not ask for.
 */
#include <errno.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe.h"
#include "probes/probe_text.h"
#include "probes/systemd_journald/journal_library.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/journald_config.pb.h"
#include "schema/gen/journald_event.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define ENTRIES_PER_TURN  256
#define ENTRIES_PER_FLUSH 8192
#define PRIORITY_LOWEST   7     /* debug */
#define FIELD_BYTES_MAX   65536 /* the rest is cut off */

struct journald_probe {
	struct orma_probe base; /* first */
	orma_journal_load_fn *load;
	const struct orma_journal_api *api; /* NULL = not loaded yet, or not there */
	bool is_missing_logged;
};

struct journald_instance {
	struct orma_probe_instance base; /* first */
	struct orma_arena arena;
	struct orma_pb_systemd_journald_config *config; /* in the arena; NULL = defaults */
	struct sd_journal *journal;                     /* NULL = not open */
	struct orma_watch watch;
	uint64_t entry_count, failure_count;
	uint64_t start_completion; /* the start waits for the journal; 0 = it does not */
};

static struct journald_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct journald_instance, base);
}

static struct journald_probe *probe_of(struct journald_instance *instance)
{
	return ORMA_CONTAINER_OF(instance->base.probe, struct journald_probe, base);
}

static const struct orma_journal_api *api_of(struct journald_instance *instance)
{
	return probe_of(instance)->api;
}

static void log_failure(const char *what, int r)
{
	orma_base_log(ORMA_LOG_ERROR, "linux.systemd_journald: %s: %s; nothing is recorded", what,
		      strerror(-r));
}

/* ---- entries ---- */

static const struct {
	struct orma_str key;
	uint32_t field_id;
	bool is_number;
} fields[] = {
	{{"MESSAGE", 7}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, false},
	{{"PRIORITY", 8}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_PRIO, true},
	{{"SYSLOG_IDENTIFIER", 17}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_TAG, false},
	{{"_PID", 4}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_PID, true},
	{{"_TID", 4}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_TID, true},
	{{"_UID", 4}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_UID, true},
	{{"_GID", 4}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_GID, true},
	{{"_COMM", 5}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_COMM, false},
	{{"_EXE", 4}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_EXE, false},
	{{"_SYSTEMD_UNIT", 13}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_SYSTEMD_UNIT, false},
	{{"_HOSTNAME", 9}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_HOSTNAME, false},
	{{"_TRANSPORT", 10}, ORMA_PB_SYSTEMD_JOURNALD_EVENT_TRANSPORT, false},
};

/* Writes a field "KEY=value" that is not in `written` yet. Returns the bit of its key, 0 for other
 * fields. */
static uint32_t write_field(struct orma_packet *packet, struct orma_str text, uint32_t written)
{
	struct orma_str key;

	if (!orma_probes_text_until(&text, '=', &key))
		return 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++) {
		uint32_t number, bit = UINT32_C(1) << i;
		if (!orma_base_str_is_equal(key, fields[i].key))
			continue;
		if (written & bit)
			return bit;
		if (!fields[i].is_number)
			orma_packet_bytes(packet, fields[i].field_id, text.data,
					  ORMA_MIN(text.size, (size_t)FIELD_BYTES_MAX));
		else if (orma_probes_text_u32(text, &number))
			orma_packet_varint(packet, fields[i].field_id, number);
		return bit;
	}
	return 0;
}

static void write_entry(struct journald_instance *instance, uint64_t time_ns)
{
	const struct orma_journal_api *api = api_of(instance);
	struct orma_nested nested;
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);

	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, time_ns);
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
			   ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC);
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_JOURNALD_EVENT);
	const void *data;
	size_t size;
	uint32_t written = 0;
	api->restart_data(instance->journal);
	while (api->enumerate_data(instance->journal, &data, &size) > 0)
		written |= write_field(packet, (struct orma_str){data, size}, written);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

/* Reads up to `limit` entries. Returns true when there may be more. */
static bool read_entries(struct journald_instance *instance, unsigned limit)
{
	const struct orma_journal_api *api = api_of(instance);

	for (unsigned i = 0; i < limit; i++) {
		uint64_t time_us = 0, time_ns;
		int r = api->next(instance->journal);
		if (r < 0)
			instance->failure_count++;
		if (r <= 0)
			return false;
		/* An entry of another boot has no time on this boot's clock. */
		if (api->get_monotonic_usec(instance->journal, &time_us, NULL) < 0 ||
		    __builtin_mul_overflow(time_us, 1000, &time_ns)) {
			instance->failure_count++;
			continue;
		}
		write_entry(instance, time_ns);
		instance->entry_count++;
	}
	return true;
}

/* ---- the journal ---- */

static void close_journal(struct journald_instance *instance)
{
	orma_base_watch_remove(&instance->watch);
	if (instance->journal)
		api_of(instance)->close(instance->journal);
	instance->journal = NULL;
}

/* Reads what has arrived. */
static void read_journal(struct journald_instance *instance, unsigned limit)
{
	int r = api_of(instance)->process(instance->journal);

	if (r < 0) {
		log_failure("the journal cannot be watched any longer", r);
		close_journal(instance);
	} else if (read_entries(instance, limit)) {
		orma_probe_run_soon(&instance->base);
	}
}

static void on_readable(struct orma_watch *watch, unsigned ready)
{
	(void)ready;
	read_journal(ORMA_CONTAINER_OF(watch, struct journald_instance, watch), ENTRIES_PER_TURN);
}

static int add_match(struct journald_instance *instance, const char *key, struct orma_str value)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf match = {0};
	int r = orma_base_buf_append_str(&match, key);

	if (r == 0)
		r = orma_base_buf_append(&match, value.data, value.size);
	if (r == 0)
		r = api_of(instance)->add_match(instance->journal, match.data, match.size);
	return r;
}

/* libsystemd combines matches of one field by "or", and fields by "and". */
static int add_matches(struct journald_instance *instance)
{
	const struct orma_pb_systemd_journald_config *config = instance->config;
	int r = 0;

	if (!config)
		return 0;
	/* The lowest priority includes entries that have none. */
	if (orma_pb_systemd_journald_config_has_min_prio(config) &&
	    config->min_prio < PRIORITY_LOWEST)
		for (uint32_t i = 0; i <= config->min_prio && r == 0; i++) {
			char digit = (char)('0' + i);
			r = add_match(instance, "PRIORITY=", (struct orma_str){&digit, 1});
		}
	for (size_t i = 0; i < config->filter_identifiers.count && r == 0; i++)
		r = add_match(instance, "SYSLOG_IDENTIFIER=", config->filter_identifiers.items[i]);
	for (size_t i = 0; i < config->filter_units.count && r == 0; i++)
		r = add_match(instance, "_SYSTEMD_UNIT=", config->filter_units.items[i]);
	return r;
}

static int seek_end(struct journald_instance *instance)
{
	const struct orma_journal_api *api = api_of(instance);
	int r = api->seek_tail(instance->journal);

	if (r < 0)
		return r;
	r = api->previous(instance->journal);
	return r == 0 ? api->seek_head(instance->journal) : r;
}

static int watch_journal(struct journald_instance *instance)
{
	int fd = api_of(instance)->get_fd(instance->journal);

	return fd < 0 ? fd
		      : orma_base_loop_watch(instance->base.probe->loop, &instance->watch, fd,
					     ORMA_LOOP_READ, on_readable);
}

static void say_if_empty(struct journald_instance *instance)
{
	const struct orma_journal_api *api = api_of(instance);

	if (api->has_runtime_files(instance->journal) <= 0 &&
	    api->has_persistent_files(instance->journal) <= 0)
		orma_base_log(ORMA_LOG_WARNING, "linux.systemd_journald: there is no journal%s",
			      geteuid() == 0 ? " on this machine"
					     : " that this user may read; join the group "
					       "systemd-journal, or run as root");
}

static void open_journal(struct journald_instance *instance)
{
	const char *step = "the journal cannot be opened";
	int r = api_of(instance)->open(&instance->journal, ORMA_JOURNAL_LOCAL_ONLY);

	if (r >= 0) {
		step = "a filter is not usable";
		r = add_matches(instance);
	}
	if (r >= 0) {
		step = "the journal cannot be watched";
		r = watch_journal(instance);
	}
	if (r >= 0) {
		step = "the end of the journal cannot be found";
		r = seek_end(instance);
	}
	if (r < 0) {
		log_failure(step, r);
		close_journal(instance);
		return;
	}
	say_if_empty(instance);
}

static bool load_library(struct journald_probe *probe)
{
	const char *missing;

	if (probe->api)
		return true;
	probe->api = probe->load(&missing);
	if (!probe->api && !probe->is_missing_logged)
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.systemd_journald: libsystemd is not usable: %s; nothing is "
			      "recorded",
			      missing);
	probe->is_missing_logged = true;
	return probe->api != NULL;
}

/* ---- instances ---- */

static void run(struct orma_probe_instance *base)
{
	struct journald_instance *instance = to_instance(base);

	if (instance->journal)
		read_journal(instance, ENTRIES_PER_TURN);
	else if (load_library(probe_of(instance)))
		open_journal(instance);
	if (instance->start_completion)
		orma_data_source_complete(base->probe->source, instance->start_completion);
	instance->start_completion = 0;
}

static void flush(struct orma_probe_instance *base)
{
	struct journald_instance *instance = to_instance(base);
	struct orma_nested nested;

	if (!instance->journal)
		return;
	read_journal(instance, ENTRIES_PER_FLUSH);
	struct orma_packet *packet = orma_packet_begin(base->probe->source, base->idx);
	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_JOURNALD_EVENT);
	orma_packet_varint(packet, ORMA_PB_SYSTEMD_JOURNALD_EVENT_NUM_TOTAL, instance->entry_count);
	orma_packet_varint(packet, ORMA_PB_SYSTEMD_JOURNALD_EVENT_NUM_FAILED,
			   instance->failure_count);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct journald_instance *instance = to_instance(base);
	struct orma_pb_data_source_config *source;
	int r = orma_proto_decode_copy(&orma_pb_data_source_config_desc, config, size,
				       &instance->arena, &source);

	if (r < 0) {
		orma_base_arena_done(&instance->arena);
		return r;
	}
	instance->config = source->journald_config;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	(void)base;
	return true;
}

/* Entries are recorded from the moment at which the journal is open. */
static enum orma_completion begin_start(struct orma_probe_instance *base, uint64_t completion)
{
	to_instance(base)->start_completion = completion;
	return ORMA_POSTPONE;
}

static void destroy(struct orma_probe_instance *base)
{
	struct journald_instance *instance = to_instance(base);

	close_journal(instance);
	orma_base_arena_done(&instance->arena);
}

/* ---- the probe ---- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	ORMA_CONTAINER_OF(base, struct journald_probe, base)->load =
		env->load_journal ? env->load_journal : orma_journal_library_load;
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	(void)base;
}

static const struct orma_probe_ops ops = {
	.name = "linux.systemd_journald",
	.probe_bytes = sizeof(struct journald_probe),
	.instance_bytes = sizeof(struct journald_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.begin_start = begin_start,
	.run = run,
	.flush = flush,
	.destroy = destroy,
};

int orma_probe_systemd_journald_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
