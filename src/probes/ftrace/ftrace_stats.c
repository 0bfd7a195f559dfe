/* SPDX-License-Identifier: Apache-2.0
 * ftrace_stats.c - what the kernel counts, and the packet FtraceStats.
 *
 * Owns the array of CPUs. A counter that the kernel does not have is 0 in the packet, as it is in upstream's; a CPU
 * without the file is left out, because it is not there.
 */
#include "probes/ftrace/ftrace_stats.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "schema/gen/ftrace_stats.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define STATS_BYTES_MAX 65536

/* --- reading -------------------------------------------------------------------------------- */

/* "12345.678901": seconds with any number of decimals. */
static bool parse_seconds(struct orma_str text, double *ret)
{
	struct orma_str whole;
	uint64_t seconds, fraction = 0;
	double unit = 1;

	if (!orma_probes_text_until(&text, '.', &whole)) {
		whole = text;
		text.size = 0;
	}
	if (!orma_probes_text_u64(whole, &seconds) ||
	    (text.size > 0 && !orma_probes_text_u64(text, &fraction)))
		return false;
	for (size_t i = 0; i < text.size; i++)
		unit *= 10;
	*ret = (double)seconds + (double)fraction / unit;
	return true;
}

void orma_ftrace_cpu_stats_parse(struct orma_str text, struct orma_ftrace_cpu_stats *ret)
{
	struct orma_str line, name;
	struct orma_ftrace_cpu_stats stats = {.cpu = ret->cpu};
	const struct {
		const char *name;
		uint64_t *value;
	} counters[] = {
		{"entries", &stats.entries},
		{"overrun", &stats.overrun},
		{"commit overrun", &stats.commit_overrun},
		{"bytes", &stats.bytes},
		{"dropped events", &stats.dropped_events},
		{"read events", &stats.read_events},
	};

	while (orma_probes_text_line(&text, &line)) {
		if (!orma_probes_text_until(&line, ':', &name))
			continue;
		struct orma_str value = orma_probes_text_trim(line);
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(counters); i++) {
			if (orma_base_str_is(name, counters[i].name))
				orma_probes_text_u64(value, counters[i].value);
		}
		if (orma_base_str_is(name, "oldest event ts"))
			parse_seconds(value, &stats.oldest_event_s);
		else if (orma_base_str_is(name, "now ts"))
			parse_seconds(value, &stats.now_s);
	}
	*ret = stats;
}

/* 0, -ENOENT (no such CPU) or another -errno. */
static int read_cpu(int folder_fd, uint32_t cpu, struct orma_buf *text,
		    struct orma_ftrace_cpu_stats *ret)
{
	char path[ORMA_PROBES_PATH_BYTES];

	text->size = 0;
	int r = orma_base_file_read(folder_fd, orma_probes_path(path, "cpu", cpu, "/stats"),
				    STATS_BYTES_MAX, text);
	if (r < 0)
		return r;
	ret->cpu = cpu;
	orma_ftrace_cpu_stats_parse((struct orma_str){(const char *)text->data, text->size}, ret);
	return 0;
}

int orma_ftrace_stats_read(const char *tracefs_path, uint32_t cpu_count,
			   struct orma_ftrace_stats *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_ftrace_stats stats = {0};

	int r = orma_base_buf_printf(&text, "%s/per_cpu", tracefs_path);
	const char *path = r == 0 ? orma_base_buf_cstr(&text) : NULL;
	stats.cpus = orma_base_alloc_array(cpu_count, sizeof(*stats.cpus));
	if (!path || !stats.cpus) {
		orma_base_free(stats.cpus);
		return -ENOMEM;
	}
	ORMA_AUTO(orma_base_fd_closep) int folder_fd = orma_probes_dir_open(AT_FDCWD, path);
	for (uint32_t cpu = 0; folder_fd >= 0 && cpu < cpu_count; cpu++) {
		r = read_cpu(folder_fd, cpu, &text, &stats.cpus[stats.cpu_count]);
		if (r == -ENOMEM) {
			orma_base_free(stats.cpus);
			return r;
		}
		stats.cpu_count += r == 0;
	}
	*ret = stats;
	return 0;
}

void orma_ftrace_stats_done(struct orma_ftrace_stats *stats)
{
	orma_base_free(stats->cpus);
	*stats = (struct orma_ftrace_stats){0};
}

void orma_ftrace_stats_add_kprobes(struct orma_ftrace_stats *stats, struct orma_str profile)
{
	struct orma_str line, name;
	uint64_t hits, misses;

	stats->has_kprobes = true;
	while (orma_probes_text_line(&profile, &line)) {
		if (!orma_probes_text_word(&line, &name) ||
		    !orma_probes_text_next_u64(&line, &hits) ||
		    !orma_probes_text_next_u64(&line, &misses))
			continue;
		stats->kprobe_hits += (int64_t)(hits & INT64_MAX);
		stats->kprobe_misses += (int64_t)(misses & INT64_MAX);
	}
}

/* --- writing -------------------------------------------------------------------------------- */

#define FIELD(name) ORMA_PB_FTRACE_STATS_##name
#define CPU(name)   ORMA_PB_FTRACE_CPU_STATS_##name

static void write_cpu(const struct orma_ftrace_cpu_stats *cpu, struct orma_packet *packet)
{
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, FIELD(CPU_STATS));
	orma_packet_varint(packet, CPU(CPU), cpu->cpu);
	orma_packet_varint(packet, CPU(ENTRIES), cpu->entries);
	orma_packet_varint(packet, CPU(OVERRUN), cpu->overrun);
	orma_packet_varint(packet, CPU(COMMIT_OVERRUN), cpu->commit_overrun);
	orma_packet_varint(packet, CPU(BYTES_READ), cpu->bytes);
	orma_packet_double(packet, CPU(OLDEST_EVENT_TS), cpu->oldest_event_s);
	orma_packet_double(packet, CPU(NOW_TS), cpu->now_s);
	orma_packet_varint(packet, CPU(DROPPED_EVENTS), cpu->dropped_events);
	orma_packet_varint(packet, CPU(READ_EVENTS), cpu->read_events);
	orma_packet_nested_end(packet, &nested);
}

static void write_names(struct orma_packet *packet, uint32_t field_id, struct orma_str names)
{
	while (names.size > 0) {
		size_t size = strnlen(names.data, names.size);
		orma_packet_bytes(packet, field_id, names.data, size);
		size = ORMA_MIN(size + 1, names.size);
		names.data += size;
		names.size -= size;
	}
}

static void write_kernel_side(const struct orma_ftrace_stats *stats, struct orma_packet *packet)
{
	struct orma_nested nested;

	for (uint32_t i = 0; i < stats->cpu_count; i++)
		write_cpu(&stats->cpus[i], packet);
	orma_packet_varint(packet, FIELD(KERNEL_SYMBOLS_PARSED), stats->kernel_symbols_parsed);
	orma_packet_varint(packet, FIELD(KERNEL_SYMBOLS_MEM_KB), stats->kernel_symbols_mem_kb);
	if (stats->has_kprobes) {
		orma_packet_nested_begin(packet, &nested, FIELD(KPROBE_STATS));
		orma_packet_int(packet, ORMA_PB_FTRACE_KPROBE_STATS_HITS, stats->kprobe_hits);
		orma_packet_int(packet, ORMA_PB_FTRACE_KPROBE_STATS_MISSES, stats->kprobe_misses);
		orma_packet_nested_end(packet, &nested);
	}
	orma_packet_varint(packet, FIELD(CPU_BUFFER_SIZE_PAGES), stats->cpu_buffer_size_pages);
	orma_packet_varint(packet, FIELD(CACHED_CPU_BUFFER_SIZE_PAGES),
			   stats->cached_cpu_buffer_size_pages);
}

void orma_ftrace_stats_write(const struct orma_ftrace_stats *stats,
			     const struct orma_ftrace_session_stats *session,
			     struct orma_packet *packet)
{
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_FTRACE_STATS);
	orma_packet_int(packet, FIELD(PHASE), session->phase);
	write_kernel_side(stats, packet);
	write_names(packet, FIELD(UNKNOWN_FTRACE_EVENTS), session->unknown_events);
	write_names(packet, FIELD(FAILED_FTRACE_EVENTS), session->failed_events);
	if (session->preserve_buffer)
		orma_packet_bool(packet, FIELD(PRESERVE_FTRACE_BUFFER), true);
	for (uint32_t status = 0; status < 32; status++) {
		if (session->parse_errors >> status & 1)
			orma_packet_varint(packet, FIELD(FTRACE_PARSE_ERRORS), status);
	}
	if (session->atrace_errors.size > 0)
		orma_packet_bytes(packet, FIELD(ATRACE_ERRORS), session->atrace_errors.data,
				  session->atrace_errors.size);
	if (session->exclusive_feature_error.size > 0)
		orma_packet_bytes(packet, FIELD(EXCLUSIVE_FEATURE_ERROR),
				  session->exclusive_feature_error.data,
				  session->exclusive_feature_error.size);
	orma_packet_nested_end(packet, &nested);
}
