/* SPDX-License-Identifier: Apache-2.0
 * remote_clocks.c - a relay and the service read their clocks in turn, and send each other what they read.
 *
 * Two exchanges that follow each other are four readings of each clock: the other machine's, the host's, the other machine's, the
 * host's. The middle of a machine's two readings is about when the reading between them was taken, which gives two
 * differences. The mean of all differences relates the two clocks, as if both had been read at one time.
 */
#include "trace/remote_clocks.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"

enum { CLOCKS_MAX = 64, EXCHANGES_FIELD = 1, OTHERS_FIELD = 2, HOSTS_FIELD = 3 };

/* Exchanges that are further apart are not of one round. */
#define ROUND_NS UINT64_C(30000000000)

struct readings {
	struct orma_clock_reading clocks[CLOCKS_MAX];
	size_t count;
};

struct exchange {
	struct readings other, host;
};

/* A clock of the other machine beside that of the host. */
struct difference {
	uint32_t clock;
	int64_t host_ns; /* the last reading of the host */
	uint64_t first;
	int64_t sum; /* differences to the first one, added up */
	int64_t count;
};

struct differences {
	struct difference clocks[CLOCKS_MAX];
	size_t count;
};

static void read_clocks(struct orma_str exchange, uint32_t field_id, uint32_t machine_idx,
			struct readings *ret)
{
	struct orma_proto_field field;
	uint32_t primary;
	ret->count = 0;
	if (orma_proto_reader_find(exchange.data, exchange.size, field_id, &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		ret->count = orma_clock_snapshot_read(field.bytes, machine_idx, 0, ret->clocks,
						      CLOCKS_MAX, &primary);
}

/* Returns what a clock showed; 0 is a clock that was not read. */
static uint64_t reading_of(const struct readings *readings, uint32_t clock)
{
	for (size_t i = 0; i < readings->count; i++)
		if ((uint32_t)readings->clocks[i].key == clock)
			return (uint64_t)readings->clocks[i].value;
	return 0;
}

static void add_difference(struct difference *difference, uint64_t value)
{
	if (difference->count++ == 0)
		difference->first = value;
	difference->sum = (int64_t)((uint64_t)difference->sum + (value - difference->first));
}

static struct difference *find(struct differences *differences, uint32_t clock)
{
	size_t i = 0;
	while (i < differences->count && differences->clocks[i].clock != clock)
		i++;
	if (i == CLOCKS_MAX)
		return NULL;
	if (i == differences->count)
		differences->clocks[differences->count++] = (struct difference){.clock = clock};
	return &differences->clocks[i];
}

static void compare(struct differences *differences, const struct exchange *before,
		    const struct exchange *after)
{
	uint64_t began = reading_of(&before->other, ORMA_CLOCK_BOOTTIME);
	uint64_t ended = reading_of(&after->other, ORMA_CLOCK_BOOTTIME);
	if (ended - began >= ROUND_NS)
		return;
	for (size_t i = 0; i < before->host.count; i++) {
		uint32_t clock = (uint32_t)before->host.clocks[i].key;
		uint64_t host[] = {reading_of(&before->host, clock),
				   reading_of(&after->host, clock)};
		uint64_t other[] = {reading_of(&before->other, clock),
				    reading_of(&after->other, clock)};
		struct difference *difference = find(differences, clock);
		if (!difference || !host[0] || !host[1] || !other[0] || !other[1])
			continue;
		difference->host_ns = (int64_t)host[1];
		add_difference(difference, (other[0] + other[1]) / 2 - host[0]);
		add_difference(difference, other[1] - (host[0] + host[1]) / 2);
	}
}

static int add_snapshot(struct orma_packet_index *index, const struct orma_clock_reading *readings,
			size_t count)
{
	int r = orma_trace_clocks_add(&index->clocks, readings, count);
	if (r > 0 && index->snapshot)
		r = index->snapshot(index->ctx, readings, count);
	return ORMA_MIN(r, 0);
}

static int relate(struct orma_packet_index *index, uint32_t machine_idx,
		  const struct differences *differences)
{
	int r = 0;
	for (size_t i = 0; i < differences->count && r == 0; i++) {
		const struct difference *difference = &differences->clocks[i];
		if (difference->count == 0)
			continue;
		uint64_t mean = difference->first + (uint64_t)(difference->sum / difference->count);
		struct orma_clock_reading readings[] = {
			{.key = orma_trace_clock_key(0, 0, difference->clock),
			 .value = difference->host_ns,
			 .unit_ns = 1},
			{.key = orma_trace_clock_key(machine_idx, 0, difference->clock),
			 .value = (int64_t)((uint64_t)difference->host_ns + mean),
			 .unit_ns = 1}};
		r = add_snapshot(index, readings, ORMA_ARRAY_SIZE(readings));
	}
	return r;
}

static bool has_difference(const struct differences *differences)
{
	for (size_t i = 0; i < differences->count; i++)
		if (differences->clocks[i].count > 0)
			return true;
	return false;
}

/* Reads the next exchange. False at the end. */
static bool next_exchange(struct orma_proto_reader *reader, uint32_t machine_idx,
			  struct exchange *ret)
{
	struct orma_proto_field field;
	while (orma_proto_reader_next(reader, &field) > 0) {
		if (field.id != EXCHANGES_FIELD || field.type != ORMA_PROTO_BYTES)
			continue;
		read_clocks(field.bytes, OTHERS_FIELD, machine_idx, &ret->other);
		read_clocks(field.bytes, HOSTS_FIELD, 0, &ret->host);
		return true;
	}
	return false;
}

int orma_remote_clocks_take(struct orma_packet_index *index, const struct orma_sequence *sequence,
			    struct orma_str content)
{
	struct exchange exchanges[2];
	struct differences differences = {.count = 0};
	struct orma_proto_reader reader;
	uint32_t machine_idx = sequence->machine_idx;
	if (machine_idx == 0)
		return 0;
	orma_proto_reader_init(&reader, content.data, content.size);
	for (unsigned i = 0; next_exchange(&reader, machine_idx, &exchanges[i % 2]); i++)
		if (i > 0)
			compare(&differences, &exchanges[(i - 1) % 2], &exchanges[i % 2]);
	/* Until its clocks are related to the host's, those of one name show one time on both. */
	if (!has_difference(&differences))
		return 0;
	int r = relate(index, machine_idx, &differences);
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && next_exchange(&reader, machine_idx, &exchanges[0]))
		r = add_snapshot(index, exchanges[0].other.clocks, exchanges[0].other.count);
	return r;
}
