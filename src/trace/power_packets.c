/* SPDX-License-Identifier: Apache-2.0
 * power_packets.c - what uses energy: estimates by consumer and user, the states of parts, the screen, and properties of the system.
 *
 * Only phones write these packets, so the schema does not have them: their fields are read by number. Descriptions of consumers
 * and states are taken in the order of the file, values in the order of time.
 */
#include <errno.h>
#include <limits.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "trace/kernel_event.h"
#include "trace/power_packets.h"

enum { ENERGY_DESCRIPTOR = 1, ENERGY_CONSUMER = 2, ENERGY_UWS = 3, ENERGY_OF_USER = 4 };
enum { CONSUMER_ID = 1, CONSUMER_ORDINAL = 2, CONSUMER_TYPE = 3, CONSUMER_NAME = 4 };
enum { USER_UID = 1, USER_UWS = 2 };
enum { RESIDENCY_DESCRIPTOR = 1, RESIDENCY_VALUE = 2 };
enum { STATE_ENTITY = 1, STATE_INDEX = 2, STATE_ENTITY_NAME = 3, STATE_NAME = 4 };
enum { STATE_TOTAL_MS = 3 };
enum { DISPLAY_STATE = 1 };
enum { PROPERTY = 1, PROPERTY_NAME = 1, PROPERTY_VALUE = 2 };

/* Keys of orma_kernel_sum(), which keeps string ids + 1 of consumers and states, and the number of a consumer. */
enum {
	KEEP_CONSUMER = 'c',
	KEEP_TYPE = 't',
	KEEP_ORDINAL = 'o',
	KEEP_ENTITY = 'e',
	KEEP_STATE = 'a'
};

static const struct orma_track_kind screen_kind = {
	.type = "screen_state", .name = "ScreenState", .is_counter = true};
static const struct orma_track_kind battery_stats_kind = {.type = "battery_stats",
							  .name = "%0",
							  .dimensions = {{"counter_key", true}},
							  .is_counter = true};

struct reading {
	struct orma_system *system;
	uint32_t machine_idx;
	int64_t ts;
};

/* Calls a function with each submessage of a field. */
typedef int each_fn(const struct reading *reading, const struct orma_kernel_fields *fields);

static int each(const struct reading *reading, struct orma_str content, uint32_t id, each_fn *fn)
{
	struct orma_kernel_fields fields;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == id && field.type == ORMA_PROTO_BYTES) {
			orma_kernel_fields_read(&fields, field.bytes);
			r = fn(reading, &fields);
		}
	return r;
}

static bool has_number(const struct orma_kernel_fields *fields, unsigned field)
{
	return fields->numbers >> field & 1;
}

static void add_stat(const struct reading *reading, enum orma_stat stat)
{
	orma_stats_add(&reading->system->stats, reading->machine_idx, stat, 0, 1);
}

static int64_t *kept(const struct reading *reading, char what, uint64_t key)
{
	return orma_kernel_sum(&reading->system->kernel, what, reading->machine_idx, key);
}

/* Keeps the string of a field. 0 or -ENOMEM. */
static int keep_text(const struct reading *reading, char what, uint64_t key,
		     const struct orma_kernel_fields *fields, unsigned field)
{
	int64_t *place = kept(reading, what, key);
	if (place)
		*place = 1 + orma_system_text(reading->system, fields->texts >> field & 1
								       ? fields->strings[field]
								       : ORMA_STR(""));
	return place ? 0 : -ENOMEM;
}

/* The first description of a consumer counts. */
static int describe_consumer(const struct reading *reading, const struct orma_kernel_fields *fields)
{
	uint64_t id = (uint64_t)(int32_t)orma_kernel_field(fields, CONSUMER_ID);
	if (!has_number(fields, CONSUMER_ID)) {
		add_stat(reading, ORMA_STAT_energy_descriptor_invalid);
		return 0;
	}
	const int64_t *name = kept(reading, KEEP_CONSUMER, id);
	int64_t *ordinal = kept(reading, KEEP_ORDINAL, id);
	if (!name || !ordinal)
		return -ENOMEM;
	if (*name != 0)
		return 0;
	*ordinal = (int32_t)orma_kernel_field(fields, CONSUMER_ORDINAL);
	int r = keep_text(reading, KEEP_TYPE, id, fields, CONSUMER_TYPE);
	return r < 0 ? r : keep_text(reading, KEEP_CONSUMER, id, fields, CONSUMER_NAME);
}

static uint64_t state_key(const struct orma_kernel_fields *fields)
{
	return (uint64_t)(uint32_t)orma_kernel_field(fields, STATE_ENTITY) << 32 |
	       (uint32_t)orma_kernel_field(fields, STATE_INDEX);
}

static int describe_state(const struct reading *reading, const struct orma_kernel_fields *fields)
{
	uint64_t key = state_key(fields);
	if (!has_number(fields, STATE_ENTITY) || !has_number(fields, STATE_INDEX)) {
		add_stat(reading, ORMA_STAT_entity_state_descriptor_invalid);
		return 0;
	}
	const int64_t *known = kept(reading, KEEP_ENTITY, key);
	if (!known || *known != 0)
		return known ? 0 : -ENOMEM;
	int r = keep_text(reading, KEEP_STATE, key, fields, STATE_NAME);
	return r < 0 ? r : keep_text(reading, KEEP_ENTITY, key, fields, STATE_ENTITY_NAME);
}

int orma_power_describe(struct orma_system *system, uint32_t machine_idx, uint32_t kind,
			struct orma_str content)
{
	struct reading reading = {system, machine_idx, 0};
	struct orma_proto_field field;
	if (kind == ORMA_PACKET_ENTITY_STATE)
		return each(&reading, content, RESIDENCY_DESCRIPTOR, describe_state);
	return orma_proto_reader_find(content.data, content.size, ENERGY_DESCRIPTOR, &field) > 0
		       ? each(&reading, field.bytes, 1, describe_consumer)
		       : 0;
}

/* Adds a value to the counter of a consumer, whose name is the track's. `uid` is NULL for all users together. */
static int count_energy(const struct reading *reading, int64_t consumer, const int64_t *uid,
			double uws)
{
	static const struct orma_track_kind kinds[] = {
		{.type = "android_energy_estimation_breakdown",
		 .dimensions = {{"energy_consumer_id", false}},
		 .is_counter = true},
		{.type = "android_energy_estimation_breakdown_per_uid",
		 .dimensions = {{"energy_consumer_id", false}, {"uid", false}},
		 .is_counter = true}};
	struct orma_system *system = reading->system;
	const struct orma_table *tracks = &system->tables->all[ORMA_TABLE_TRACK];
	uint64_t rows = orma_store_table_rows(tracks);
	const int64_t *name = kept(reading, KEEP_CONSUMER, (uint64_t)consumer);
	const int64_t *type = kept(reading, KEEP_TYPE, (uint64_t)consumer);
	const int64_t *ordinal = kept(reading, KEEP_ORDINAL, (uint64_t)consumer);
	int64_t track = orma_system_track(system, reading->machine_idx, &kinds[uid != NULL],
					  ORMA_DIMENSIONS(consumer, uid ? *uid : 0));
	if (!name || !type || !ordinal || track < 0)
		return track < 0 ? (int)track : -ENOMEM;
	int r = 0;
	if (orma_store_table_rows(tracks) > rows) {
		system->args.tables = system->tables;
		orma_arg_list_clear(&system->args);
		if (!uid) {
			orma_arg_list_add(&system->args, ORMA_STR("consumer_type"),
					  ORMA_STR("consumer_type"), ORMA_ARG_STRING, *type - 1);
			orma_arg_list_add_int(&system->args, "ordinal", *ordinal);
		}
		r = orma_tracks_set(system->tracks, track, ORMA_TRACK_NAME, *name - 1);
		if (r == 0)
			r = orma_tracks_set(system->tracks, track, ORMA_TRACK_SOURCE_ARG_SET_ID,
					    orma_system_take_args(system));
	}
	return r < 0 ? r
		     : orma_counters_add(system->tables, reading->ts, track, uws, ORMA_CELL_NULL);
}

int orma_energy_breakdown(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			  struct orma_str content)
{
	struct reading reading = {system, machine_idx, ts};
	struct orma_kernel_fields fields;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_kernel_fields_read(&fields, content);
	if (fields.texts >> ENERGY_DESCRIPTOR & 1)
		return 0;
	int64_t consumer = (int32_t)orma_kernel_field(&fields, ENERGY_CONSUMER);
	const int64_t *name = kept(&reading, KEEP_CONSUMER, (uint64_t)consumer);
	if (!name)
		return -ENOMEM;
	if (!has_number(&fields, ENERGY_CONSUMER) || !has_number(&fields, ENERGY_UWS) ||
	    *name == 0) {
		add_stat(&reading, ORMA_STAT_energy_breakdown_missing_values);
		return 0;
	}
	int r = count_energy(&reading, consumer, NULL, (double)(int64_t)fields.values[ENERGY_UWS]);
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ENERGY_OF_USER || field.type != ORMA_PROTO_BYTES)
			continue;
		orma_kernel_fields_read(&fields, field.bytes);
		int64_t uid = (int32_t)orma_kernel_field(&fields, USER_UID);
		if (has_number(&fields, USER_UID) && has_number(&fields, USER_UWS))
			r = count_energy(&reading, consumer, &uid,
					 (double)(int64_t)fields.values[USER_UWS]);
		else
			add_stat(&reading, ORMA_STAT_energy_uid_breakdown_missing_values);
	}
	return r;
}

static int count_state(const struct reading *reading, const struct orma_kernel_fields *fields)
{
	static const struct orma_track_kind kind = {
		.type = "entity_state",
		.name = "Entity residency: %0 is %1",
		.dimensions = {{"entity_name", true}, {"state_name", true}},
		.is_counter = true};
	const int64_t *entity = kept(reading, KEEP_ENTITY, state_key(fields));
	const int64_t *state = kept(reading, KEEP_STATE, state_key(fields));
	if (!entity || !state)
		return -ENOMEM;
	if (*entity == 0) {
		add_stat(reading, ORMA_STAT_entity_state_residency_lookup_failed);
		return 0;
	}
	return orma_system_count(reading->system, reading->machine_idx, reading->ts, &kind,
				 ORMA_DIMENSIONS(*entity - 1, *state - 1),
				 (double)orma_kernel_field(fields, STATE_TOTAL_MS), ORMA_CELL_NULL);
}

int orma_entity_states(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content)
{
	struct reading reading = {system, machine_idx, ts};
	struct orma_proto_field field;
	if (orma_proto_reader_find(content.data, content.size, RESIDENCY_VALUE, &field) <= 0) {
		add_stat(&reading, ORMA_STAT_entity_state_residency_invalid);
		return 0;
	}
	return each(&reading, content, RESIDENCY_VALUE, count_state);
}

int orma_display_state(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content)
{
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	return orma_system_count(system, machine_idx, ts, &screen_kind, NULL,
				 (int32_t)orma_kernel_field(&fields, DISPLAY_STATE),
				 ORMA_CELL_NULL);
}

int orma_promoted_counter(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			  struct orma_str name, double value)
{
	static const char stats[] = "battery_stats.";
	if (orma_base_str_is(name, "ScreenState"))
		return orma_system_count(system, machine_idx, ts, &screen_kind, NULL, value,
					 ORMA_CELL_NULL);
	if (name.size < sizeof(stats) - 1 || memcmp(name.data, stats, sizeof(stats) - 1) != 0)
		return ORMA_NOT_PROMOTED;
	return orma_system_count(system, machine_idx, ts, &battery_stats_kind,
				 ORMA_DIMENSIONS(orma_system_text(system, name)), value,
				 ORMA_CELL_NULL);
}

/* A number of 32 bits that is the whole text. */
static bool read_number(struct orma_str text, double *ret)
{
	bool is_negative = text.size > 1 && text.data[0] == '-';
	int64_t value = 0;
	if (text.size == 0)
		return false;
	for (size_t i = is_negative; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9' || value > INT_MAX)
			return false;
		value = value * 10 + (text.data[i] - '0');
	}
	*ret = (double)(is_negative ? -value : value);
	return value <= (int64_t)INT_MAX + is_negative;
}

static int take_property(const struct reading *reading, const struct orma_kernel_fields *fields)
{
	static const char prefix[] = "debug.tracing.";
	static const struct {
		const char *property, *counter;
	} counters[] = {{"mcc", "mcc"},
			{"mnc", "mnc"},
			{"desktop_mode_visible_tasks", "desktop_mode_visible_tasks"},
			{"battery_status", "BatteryStatus"},
			{"plug_type", "PlugType"}};
	struct orma_str name = fields->strings[PROPERTY_NAME];
	double value;
	if (!(fields->texts >> PROPERTY_NAME & fields->texts >> PROPERTY_VALUE & 1) ||
	    name.size < sizeof(prefix) || memcmp(name.data, prefix, sizeof(prefix) - 1) != 0 ||
	    !read_number(fields->strings[PROPERTY_VALUE], &value))
		return 0;
	struct orma_str rest = {name.data + sizeof(prefix) - 1, name.size - (sizeof(prefix) - 1)};
	if (orma_base_str_is(rest, "screen_state"))
		rest = ORMA_STR("ScreenState");
	int r = orma_promoted_counter(reading->system, reading->machine_idx, reading->ts, rest,
				      value);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(counters) && r == ORMA_NOT_PROMOTED; i++) {
		struct orma_track_kind kind = {.type = "sysprop_counter",
					       .name = counters[i].counter,
					       .dimensions = {{"sysprop_name", true}},
					       .is_counter = true};
		if (orma_base_str_is(rest, counters[i].property))
			r = orma_system_count(
				reading->system, reading->machine_idx, reading->ts, &kind,
				ORMA_DIMENSIONS(orma_system_text(reading->system, name)), value,
				ORMA_CELL_NULL);
	}
	return ORMA_MIN(r, 0);
}

int orma_system_properties(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			   struct orma_str content)
{
	struct reading reading = {system, machine_idx, ts};
	return each(&reading, content, PROPERTY, take_property);
}
