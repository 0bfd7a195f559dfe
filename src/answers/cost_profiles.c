/* SPDX-License-Identifier: Apache-2.0
 * cost_profiles.c - sums samples and allocations by call stack and thread.
 *
 * Samples of linux.perf count 1 each: their counters are running totals of a CPU, which count what other processes did,
 * too. Other profilers say what each of their samples weighs. A trace may have many sessions, as perf.data has one for each
 * event; those of one source and unit are one profile.
 */
#include "answers/cost_profiles.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

enum { PROFILES_MAX = 64, HEAP_KEY = 1, SESSION_KEY };

void orma_cost_profiles_done(struct orma_cost_profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->count; i++)
		orma_base_free(profiles->items[i].rows);
	orma_base_free(profiles->items);
	orma_base_map_done(&profiles->by_key);
	orma_base_map_done(&profiles->rows);
	*profiles = (struct orma_cost_profiles){0};
}

uint64_t orma_cost_profile_wait_count(const struct orma_cost_profile *profile)
{
	uint64_t sum = 0;
	size_t value = 1;
	while (value < profile->value_count &&
	       !orma_base_str_is(profile->values[value].name, "waits"))
		value++;
	if (!orma_cost_profile_is_time(profile) || value >= profile->value_count)
		return 0;
	for (uint32_t row = 0; row < profile->row_count; row++)
		sum += (uint64_t)ORMA_MAX(profile->rows[row].values[value], INT64_C(0));
	return sum > profile->sample_count ? sum : 0;
}

bool orma_cost_profile_is_time(const struct orma_cost_profile *profile)
{
	return profile->value_count > 0 &&
	       (orma_base_str_is(profile->values[0].unit, "ns") ||
		orma_base_str_is(profile->values[0].unit, "nanoseconds"));
}

struct reading {
	struct orma_cost_profiles *profiles;
	const struct orma_trace_database *database;
};

static int64_t cell(const struct reading *reading, enum orma_table_id table, size_t column,
		    uint64_t row)
{
	return orma_trace_database_cell(reading->database, table, column, row);
}

static uint64_t rows_of(const struct reading *reading, enum orma_table_id table)
{
	return orma_store_table_rows(&reading->database->tables.all[table]);
}

/* Returns the number of a profile, which is made when it is new, or a negative errno value. */
static int64_t find_profile(struct reading *reading, const int64_t words[4], bool *ret_is_new)
{
	struct orma_cost_profiles *profiles = reading->profiles;
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, 4 * sizeof(*words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&profiles->by_key, key);
	*ret_is_new = known == 0;
	if (known)
		return (int64_t)known - 1;
	/* Strangers may write a trace with a profiler for each sample. The last one takes the rest. */
	if (profiles->count == PROFILES_MAX) {
		*ret_is_new = false;
		return PROFILES_MAX - 1;
	}
	int r = orma_store_grow(&profiles->items, (uint64_t)profiles->count + 1,
				&profiles->capacity, sizeof(*profiles->items));
	if (r == 0)
		r = orma_base_map_put(&profiles->by_key, key,
				      (void *)((uintptr_t)profiles->count + 1));
	if (r < 0)
		return r;
	profiles->items[profiles->count] = (struct orma_cost_profile){.rows = NULL};
	return profiles->count++;
}

/* Returns the number of the row of a call stack in a profile, or a negative errno value. */
static int64_t find_row(struct reading *reading, uint32_t number, int64_t callsite, int64_t utid,
			int64_t upid)
{
	struct orma_cost_profiles *profiles = reading->profiles;
	struct orma_cost_profile *profile = &profiles->items[number];
	int64_t words[] = {number, callsite, utid, upid};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&profiles->rows, key);
	if (known)
		return (int64_t)known - 1;
	int r = orma_store_grow(&profile->rows, (uint64_t)profile->row_count + 1,
				&profile->row_capacity, sizeof(*profile->rows));
	if (r == 0)
		r = orma_base_map_put(&profiles->rows, key,
				      (void *)((uintptr_t)profile->row_count + 1));
	if (r < 0)
		return r;
	profile->rows[profile->row_count] =
		(struct orma_profile_row){.callsite = callsite, .utid = utid, .upid = upid};
	return profile->row_count++;
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

/* --- samples ---------------------------------------------------------------------------------- */

struct weight {
	struct orma_profile_value value;
	int64_t number;
};

/* Reads what a sample weighs. Returns how many values it has. */
static size_t read_weights(const struct reading *reading, uint64_t sample,
			   struct weight ret[ORMA_PROFILE_VALUES_MAX])
{
	int64_t set = cell(reading, ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_COUNTER_SET_ID,
			   sample);
	uint64_t rows = rows_of(reading, ORMA_TABLE_PROFILER_COUNTER_SET);
	size_t count = 0;
	/* A set's number is its first row. */
	for (uint64_t row = (uint64_t)set;
	     set >= 0 && row < rows && count < ORMA_PROFILE_VALUES_MAX &&
	     cell(reading, ORMA_TABLE_PROFILER_COUNTER_SET,
		  ORMA_PROFILER_COUNTER_SET_COUNTER_SET_ID, row) == set;
	     row++) {
		uint64_t counter = (uint64_t)cell(reading, ORMA_TABLE_PROFILER_COUNTER_SET,
						  ORMA_PROFILER_COUNTER_SET_COUNTER_ID, row);
		uint64_t track =
			(uint64_t)cell(reading, ORMA_TABLE_COUNTER, ORMA_COUNTER_TRACK_ID, counter);
		struct orma_str type = orma_trace_database_text(
			reading->database, cell(reading, ORMA_TABLE_TRACK, ORMA_TRACK_TYPE, track));
		if (!orma_base_str_is(type, "stack_sample_session_counter"))
			continue;
		double number = orma_store_double_of_cell(
			cell(reading, ORMA_TABLE_COUNTER, ORMA_COUNTER_VALUE, counter));
		ret[count++] = (struct weight){
			.value = {.name = orma_trace_database_text(
					  reading->database,
					  cell(reading, ORMA_TABLE_TRACK, ORMA_TRACK_NAME, track)),
				  .unit = orma_trace_database_text(
					  reading->database, cell(reading, ORMA_TABLE_TRACK,
								  ORMA_TRACK_COUNTER_UNIT, track))},
			.number = number > -9e18 && number < 9e18 ? (int64_t)number : 0,
		};
	}
	return count;
}

/* Returns the place of a value in a profile, which is made when it is new; ORMA_PROFILE_VALUES_MAX = there is no room. */
static size_t find_value(struct orma_cost_profile *profile, const struct orma_profile_value *value)
{
	for (size_t i = 0; i < profile->value_count; i++)
		if (orma_base_str_is_equal(profile->values[i].name, value->name) &&
		    orma_base_str_is_equal(profile->values[i].unit, value->unit))
			return i;
	if (profile->value_count < ORMA_PROFILE_VALUES_MAX) {
		profile->values[profile->value_count] = *value;
		return profile->value_count++;
	}
	return ORMA_PROFILE_VALUES_MAX;
}

/* Samples of one source that weigh different things are different profiles. */
static int64_t find_profile_of(struct reading *reading, uint64_t sample,
			       const struct weight *weights, size_t weight_count)
{
	bool is_new;
	int64_t source =
		cell(reading, ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_SOURCE, sample);
	uint64_t hash = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < weight_count && i < 1; i++) {
		hash = orma_base_fnv1a(hash, weights[i].value.name.data,
				       weights[i].value.name.size);
		hash = orma_base_fnv1a(hash, "", 1);
		hash = orma_base_fnv1a(hash, weights[i].value.unit.data,
				       weights[i].value.unit.size);
	}
	int64_t session =
		cell(reading, ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_SESSION_ID, sample);
	int64_t timebase = session >= 0
				   ? cell(reading, ORMA_TABLE_PROFILER_SESSION,
					  ORMA_PROFILER_SESSION_TIMEBASE_UNIT, (uint64_t)session)
				   : ORMA_CELL_NULL;
	int64_t words[] = {SESSION_KEY, source, timebase, (int64_t)hash};
	int64_t number = find_profile(reading, words, &is_new);
	if (number < 0 || !is_new)
		return number;
	struct orma_cost_profile *profile = &reading->profiles->items[number];
	profile->source = orma_trace_database_text(reading->database, source);
	profile->timebase = orma_trace_database_text(reading->database, timebase);
	profile->has_weights = weight_count > 0;
	if (weight_count == 0)
		(void)find_value(profile, &(struct orma_profile_value){ORMA_STR("samples"),
								       ORMA_STR("count")});
	return number;
}

static int add_sample(struct reading *reading, uint64_t sample)
{
	struct weight weights[ORMA_PROFILE_VALUES_MAX];
	size_t count = read_weights(reading, sample, weights);
	int64_t number = find_profile_of(reading, sample, weights, count);
	if (number < 0)
		return (int)number;
	int64_t callsite =
		cell(reading, ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_CALLSITE_ID, sample);
	int64_t task = cell(reading, ORMA_TABLE_PROFILER_SAMPLE,
			    ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID, sample);
	int64_t utid = ORMA_CELL_NULL, upid = ORMA_CELL_NULL;
	reading->profiles->items[number].sample_count++;
	if (callsite < 0) {
		reading->profiles->items[number].stackless_count++;
		return 0;
	}
	if (task >= 0) {
		utid = cell(reading, ORMA_TABLE_PROFILER_TASK_CONTEXT,
			    ORMA_PROFILER_TASK_CONTEXT_UTID, (uint64_t)task);
		upid = cell(reading, ORMA_TABLE_PROFILER_TASK_CONTEXT,
			    ORMA_PROFILER_TASK_CONTEXT_UPID, (uint64_t)task);
	}
	int64_t row = find_row(reading, (uint32_t)number, callsite, utid, upid);
	if (row < 0)
		return (int)row;
	struct orma_cost_profile *profile = &reading->profiles->items[number];
	if (count == 0)
		add(&profile->rows[row].values[0], 1);
	for (size_t i = 0; i < count; i++) {
		size_t value = find_value(profile, &weights[i].value);
		if (value < ORMA_PROFILE_VALUES_MAX)
			add(&profile->rows[row].values[value], weights[i].number);
	}
	return 0;
}

/* --- heaps ------------------------------------------------------------------------------------ */

static int add_allocation(struct reading *reading, uint64_t allocation)
{
	static const struct orma_profile_value values[] = {
		[ORMA_HEAP_ALLOC_OBJECTS] = {{"alloc_objects", 13}, {"count", 5}},
		[ORMA_HEAP_ALLOC_SPACE] = {{"alloc_space", 11}, {"bytes", 5}},
		[ORMA_HEAP_INUSE_OBJECTS] = {{"inuse_objects", 13}, {"count", 5}},
		[ORMA_HEAP_INUSE_SPACE] = {{"inuse_space", 11}, {"bytes", 5}},
	};
	const int64_t words[] = {HEAP_KEY, 0, 0, 0};
	bool is_new;
	int64_t number = find_profile(reading, words, &is_new);
	if (number < 0)
		return (int)number;
	if (is_new) {
		struct orma_cost_profile *profile = &reading->profiles->items[number];
		profile->is_heap = true;
		profile->source = ORMA_STR("heap");
		profile->value_count = ORMA_ARRAY_SIZE(values);
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(values); i++)
			profile->values[i] = values[i];
	}
	int64_t callsite = cell(reading, ORMA_TABLE_HEAP_ALLOCATION,
				ORMA_HEAP_ALLOCATION_CALLSITE_ID, allocation);
	if (callsite < 0)
		return 0;
	int64_t row = find_row(
		reading, (uint32_t)number, callsite, ORMA_CELL_NULL,
		cell(reading, ORMA_TABLE_HEAP_ALLOCATION, ORMA_HEAP_ALLOCATION_UPID, allocation));
	if (row < 0)
		return (int)row;
	int64_t *sums = reading->profiles->items[number].rows[row].values;
	int64_t count =
		cell(reading, ORMA_TABLE_HEAP_ALLOCATION, ORMA_HEAP_ALLOCATION_COUNT, allocation);
	int64_t size =
		cell(reading, ORMA_TABLE_HEAP_ALLOCATION, ORMA_HEAP_ALLOCATION_SIZE, allocation);
	add(&sums[ORMA_HEAP_INUSE_OBJECTS], count);
	add(&sums[ORMA_HEAP_INUSE_SPACE], size);
	/* Rows of frees are negative. */
	if (count > 0 || size > 0) {
		add(&sums[ORMA_HEAP_ALLOC_OBJECTS], count);
		add(&sums[ORMA_HEAP_ALLOC_SPACE], size);
	}
	return 0;
}

int orma_cost_profiles_read(struct orma_cost_profiles *profiles,
			    const struct orma_trace_database *database)
{
	struct reading reading = {profiles, database};
	int r = 0;
	profiles->by_key.seed = profiles->rows.seed = database->options.seed;
	for (uint64_t i = 0; i < rows_of(&reading, ORMA_TABLE_PROFILER_SAMPLE) && r == 0; i++)
		r = add_sample(&reading, i);
	for (uint64_t i = 0; i < rows_of(&reading, ORMA_TABLE_HEAP_ALLOCATION) && r == 0; i++)
		r = add_allocation(&reading, i);
	return r;
}
