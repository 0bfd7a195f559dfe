/* SPDX-License-Identifier: Apache-2.0
 * ctf_reader.h - reads the values of fields out of a packet, by a plan.
 */
#ifndef ORMA_FORMATS_CTF_READER_H
#define ORMA_FORMATS_CTF_READER_H

#include "formats/ctf_plan.h"

/* A value: an integer (also as signed), the bits of a double, a text; or the begin or end of a structure, a variant or an
 * array, by the operation of its step. */
struct orma_ctf_value {
	const struct orma_ctf_step *step;
	union {
		uint64_t number;
		const char *text; /* borrowed from the packet */
	};
	uint32_t size; /* a text's */
};

/* A loop over the elements of an array. */
struct orma_ctf_loop {
	uint64_t left;
	uint64_t begin; /* the bit where the last element began */
};

/* {0} reads nothing. */
struct orma_ctf_reader {
	const uint8_t *
		data; /* the packet; as many bytes as `end` needs, and ORMA_CTF_READ_AHEAD more that may be read */
	uint64_t at, end; /* in bits */
	uint64_t clock;   /* the last reading of the stream's clock, in cycles */
	uint64_t id;      /* the event's, from its header */
	uint64_t slots[2 * ORMA_CTF_SLOTS_MAX];
	struct orma_ctf_loop loops[ORMA_CTF_NESTING_MAX + 1];
	struct orma_ctf_value *values;
	uint32_t value_count, value_capacity;
};
enum { ORMA_CTF_READ_AHEAD = 8 };

void orma_ctf_reader_done(struct orma_ctf_reader *reader);
/* Appends the values that the plan reads. 0, -ENODATA (the packet ends before), -EBADMSG (no alternative has this tag),
 * -EMSGSIZE (too many values), or -ENOMEM. */
int orma_ctf_reader_run(struct orma_ctf_reader *reader, const struct orma_ctf_plan *plan);

/* The first value of a name in the values that were read; NULL: there is none. */
const struct orma_ctf_value *orma_ctf_reader_find(const struct orma_ctf_reader *reader,
						  const char *name);
/* The value of a step, or NULL; the first one when there are several. */
static inline const struct orma_ctf_value *
orma_ctf_reader_value(const struct orma_ctf_reader *reader, const struct orma_ctf_step *step)
{
	for (uint32_t i = 0; step && i < reader->value_count; i++)
		if (reader->values[i].step == step)
			return &reader->values[i];
	return NULL;
}
static inline uint64_t orma_ctf_reader_number(const struct orma_ctf_reader *reader,
					      const char *name, uint64_t otherwise)
{
	const struct orma_ctf_value *value = orma_ctf_reader_find(reader, name);
	return value && value->step->op <= ORMA_CTF_READ_BITS ? value->number : otherwise;
}

#endif
