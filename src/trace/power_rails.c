/* SPDX-License-Identifier: Apache-2.0
 * power_rails.c - rails of power are counters of energy.
 *
 * A packet has the samples of some seconds, which are older than the packet. The first pass puts them into a heap, and the second
 * pass takes each out before the first event that is later. Rejected: a source of its own in the merge by time, which would read
 * the packets twice for a few samples a second.
 */
#include "trace/power_rails.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/power_rails.pb.h"
#include "store/grow.h"
#include "trace/kernel_event.h"

enum { RAIL_INDEX_MAX = 256, NS_PER_MS = 1000000 };

/* Phones name the rail by its regulator; the end of that name says what it feeds. */
static const struct {
	const char *end, *name;
} known_rails[] = {
	{"M_VDD_CPUCL0", "power.rails.cpu.little"},
	{"M_VDD_CPUCL0_M", "power.rails.cpu.little.mem"},
	{"M_VDD_CPUCL1", "power.rails.cpu.mid"},
	{"M_VDD_CPUCL1_M", "power.rails.cpu.mid.mem"},
	{"M_VDD_CPUCL2", "power.rails.cpu.big"},
	{"M_VDD_INT", "power.rails.system.fabric"},
	{"M_VDD_TPU", "power.rails.tpu"},
	{"VSYS_PWR_DISP", "power.rails.display"},
	{"VSYS_PWR_DISPLAY", "power.rails.display"},
	{"M_DISP", "power.rails.ldo.main.a.display"},
	{"VSYS_PWR_MODEM", "power.rails.modem"},
	{"M_VDD_MIF", "power.rails.memory.interface"},
	{"VSYS_PWR_WLAN_BT", "power.rails.wifi.bt"},
	{"VSYS_PWR_MMWAVE", "power.rails.mmwave"},
	{"S_VDD_AOC_RET", "power.rails.aoc.memory"},
	{"S_VDD_AOC", "power.rails.aoc.logic"},
	{"S_VDDQ_MEM", "power.rails.ddr.a"},
	{"S_VDD2L", "power.rails.ddr.b"},
	{"S_VDD2L_MEM", "power.rails.ddr.b"},
	{"S_VDD2H_MEM", "power.rails.ddr.c"},
	{"S_VDD_G3D", "power.rails.gpu"},
	{"S_VDD_G3D_L2", "power.rails.gpu.l2"},
	{"S_GNSS_CORE", "power.rails.gps"},
	{"VSYS_PWR_RFFE", "power.rails.radio.frontend"},
	{"VSYS_PWR_CAMERA", "power.rails.camera"},
	{"S_VDD_CAM", "power.rails.multimedia"},
	{"S_UDFPS", "power.rails.udfps"},
	{"S_PLL_MIPI_UFS", "power.rails.ufs"},
	{"M_LLDO1", "power.rails.ldo.main.a"},
	{"M_LLDO2", "power.rails.ldo.main.b"},
	{"S_LLDO1", "power.rails.ldo.sub"},
};

void orma_power_samples_done(struct orma_power_samples *samples)
{
	orma_base_free(samples->heap);
	*samples = (struct orma_power_samples){0};
}

static bool is_before(const struct orma_power_sample *a, const struct orma_power_sample *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->arrival < b->arrival;
}

static int push(struct orma_power_samples *samples, struct orma_power_sample sample)
{
	int r = orma_store_grow(&samples->heap, (uint64_t)samples->count + 1, &samples->capacity,
				sizeof(*samples->heap));
	if (r < 0)
		return r;
	sample.arrival = samples->arrivals++;
	uint32_t at = samples->count++;
	for (; at > 0 && is_before(&sample, &samples->heap[(at - 1) / 2]); at = (at - 1) / 2)
		samples->heap[at] = samples->heap[(at - 1) / 2];
	samples->heap[at] = sample;
	return 0;
}

static struct orma_power_sample pop(struct orma_power_samples *samples)
{
	struct orma_power_sample *heap = samples->heap, top = heap[0];
	const struct orma_power_sample last = heap[--samples->count];
	uint32_t at = 0;
	for (uint32_t child; (child = 2 * at + 1) < samples->count; at = child) {
		if (child + 1 < samples->count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return top;
}

static const char *known_name(struct orma_str rail)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(known_rails); i++) {
		size_t size = strlen(known_rails[i].end);
		if (rail.size >= size &&
		    memcmp(rail.data + rail.size - size, known_rails[i].end, size) == 0)
			return known_rails[i].name;
	}
	return NULL;
}

static uint64_t hash_rail(uint64_t session, uint64_t index)
{
	uint64_t words[] = {session, index};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

static struct orma_str text_of(const struct orma_kernel_fields *fields, unsigned field)
{
	return fields->texts >> field & 1 ? fields->strings[field] : ORMA_STR("");
}

/* The track of a rail by its session and name, which says where the rail is. */
static int64_t rail_track(struct orma_system *system, uint32_t machine_idx, uint64_t session,
			  const struct orma_kernel_fields *fields)
{
	struct orma_table *tracks = &system->tables->all[ORMA_TABLE_TRACK];
	uint64_t count = orma_store_table_rows(tracks);
	struct orma_str rail = text_of(fields, ORMA_PB_POWER_RAILS_RAIL_DESCRIPTOR_RAIL_NAME);
	const char *name = known_name(rail);
	struct orma_track_kind kind = {.type = "power_rails",
				       .name = name ? name : "power.%0_uws",
				       .dimensions = {{"name", true}, {"session_uuid", false}},
				       .is_counter = true};
	int64_t track = orma_system_track(
		system, machine_idx, &kind,
		ORMA_DIMENSIONS(orma_system_text(system, rail), (int64_t)session));
	if (track < 0 || orma_store_table_rows(tracks) == count)
		return track;
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add_string(&system->args, "raw_name", rail);
	orma_arg_list_add_string(&system->args, "subsystem_name",
				 text_of(fields, ORMA_PB_POWER_RAILS_RAIL_DESCRIPTOR_SUBSYS_NAME));
	int r = orma_tracks_set(system->tracks, track, ORMA_TRACK_SOURCE_ARG_SET_ID,
				orma_system_take_args(system));
	return r < 0 ? r : track;
}

static int take_rail(struct orma_system *system, uint32_t machine_idx, uint64_t session,
		     struct orma_str descriptor)
{
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, descriptor);
	uint64_t index = orma_kernel_field(&fields, ORMA_PB_POWER_RAILS_RAIL_DESCRIPTOR_INDEX);
	if (index > RAIL_INDEX_MAX)
		return 0;
	int64_t track = rail_track(system, machine_idx, session, &fields);
	int64_t *known =
		orma_kernel_sum(&system->kernel, 'p', machine_idx, hash_rail(session, index));
	if (track < 0 || !known)
		return track < 0 ? (int)track : -ENOMEM;
	*known = track + 1;
	return 0;
}

/* The clock of a sample is always that of the boot. False when no clock leads to the trace's time, which is counted. */
static bool find_time(struct orma_system *system, uint32_t machine_idx, uint64_t ms, int64_t *ret)
{
	struct orma_packet_index *index = system->index;
	struct orma_clock_cache cache = {0};
	int64_t ns;
	if (ms > INT64_MAX / NS_PER_MS) {
		index->counts[ORMA_COUNT_NEGATIVE_TIMES]++;
		return false;
	}
	ns = (int64_t)ms * NS_PER_MS;
	enum orma_clock_failure failure = orma_trace_clocks_convert(
		&index->clocks, orma_trace_clock_key(machine_idx, 0, ORMA_CLOCK_BOOTTIME), ns,
		index->clocks.trace_time, index->clocks.snapshot_count, &cache, ret);
	if (failure == ORMA_CLOCK_CONVERTED && *ret >= 0)
		return true;
	if (failure == ORMA_CLOCK_CONVERTED || failure == ORMA_CLOCK_NEGATIVE)
		index->counts[ORMA_COUNT_NEGATIVE_TIMES]++;
	else
		index->counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE + failure -
			      ORMA_CLOCK_UNKNOWN_SOURCE]++;
	return false;
}

static int take_sample(struct orma_system *system, uint32_t machine_idx, uint64_t session,
		       int64_t packet_ns, struct orma_str data)
{
	struct orma_kernel_fields fields;
	struct orma_power_sample sample = {
		.ns = packet_ns, .packet_ns = packet_ns, .machine_idx = machine_idx};
	const unsigned time_field = ORMA_PB_POWER_RAILS_ENERGY_DATA_TIMESTAMP_MS;
	orma_kernel_fields_read(&fields, data);
	if (fields.numbers >> time_field & 1 &&
	    !find_time(system, machine_idx, fields.values[time_field], &sample.ns))
		return 0;
	if (system->power_samples.count == ORMA_POWER_SAMPLES_MAX) {
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_power_samples_dropped, 0, 1);
		return 0;
	}
	sample.energy_uws = orma_kernel_field(&fields, ORMA_PB_POWER_RAILS_ENERGY_DATA_ENERGY);
	sample.rail = hash_rail(session,
				orma_kernel_field(&fields, ORMA_PB_POWER_RAILS_ENERGY_DATA_INDEX));
	system->index->max_ns = ORMA_MAX(system->index->max_ns, sample.ns);
	return push(&system->power_samples, sample);
}

int orma_power_rails_take(struct orma_system *system, uint32_t machine_idx, int64_t packet_ns,
			  struct orma_str content)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	bool has_samples = false;
	int r = orma_proto_reader_find(content.data, content.size, ORMA_PB_POWER_RAILS_SESSION_UUID,
				       &field);
	uint64_t session = r > 0 ? field.value : 0;
	r = ORMA_MIN(r, 0);
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_POWER_RAILS_RAIL_DESCRIPTOR)
			r = take_rail(system, machine_idx, session, field.bytes);
		if (field.id != ORMA_PB_POWER_RAILS_ENERGY_DATA)
			continue;
		has_samples = true;
		r = take_sample(system, machine_idx, session, packet_ns, field.bytes);
	}
	if (!has_samples)
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_power_rail_empty_packet, 0,
			       1);
	return r == -EBADMSG ? 0 : r;
}

static int count(struct orma_system *system, const struct orma_power_sample *sample)
{
	const int64_t *track =
		orma_kernel_sum(&system->kernel, 'p', sample->machine_idx, sample->rail);
	if (!track)
		return -ENOMEM;
	if (*track == 0) {
		orma_stats_add(&system->stats, sample->machine_idx,
			       ORMA_STAT_power_rail_unknown_index, 0, 1);
		return 0;
	}
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add(&system->args, ORMA_STR("packet_ts"), ORMA_STR("packet_ts"),
			  ORMA_ARG_UINT, sample->packet_ns);
	return orma_counters_add(system->tables, sample->ns, *track - 1, (double)sample->energy_uws,
				 orma_system_take_args(system));
}

int orma_power_samples_count(struct orma_system *system, int64_t until_ns)
{
	struct orma_power_samples *samples = &system->power_samples;
	int r = 0;
	while (r == 0 && samples->count > 0 && samples->heap[0].ns <= until_ns) {
		struct orma_power_sample sample = pop(samples);
		r = count(system, &sample);
	}
	return r;
}
