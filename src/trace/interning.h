/* SPDX-License-Identifier: Apache-2.0
 * interning.h - what the packets of a sequence name by number: strings and messages, by field and interning id.
 */
#ifndef ORMA_TRACE_INTERNING_H
#define ORMA_TRACE_INTERNING_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "trace/packet_index.h"

/* One entry of InternedData. */
struct orma_interned {
	struct orma_str bytes; /* the whole entry */
	struct orma_str
		text; /* its field 2, which is the name or the string of most entries; data is NULL if absent */
};

struct orma_interned_table {
	struct orma_interned **by_iid; /* entries with small ids; NULL = absent */
	uint32_t *
		string_ids; /* ids in the engine's pool: of their texts, or for names of annotations, of
			       * the keys of arguments; 0 = not asked for yet */
	uint32_t capacity;
	struct orma_map others;
};

enum { ORMA_INTERNED_FIELDS = 64 };

/* {0} is empty. */
struct orma_interning {
	uint64_t seed; /* stays when the tables are cleared */
	struct orma_arena arena;
	struct orma_interned_table
		*tables[ORMA_INTERNED_FIELDS]; /* by the field's number in InternedData */
};

void orma_interning_clear(struct orma_interning *interning);
/* Takes the InternedData of one packet, and copies it. The first definition of an id stays. 0 or -ENOMEM. Entries
 * that can't be read are left out. */
int orma_interning_take(struct orma_interning *interning, struct orma_str interned_data);
/* Returns NULL when there is no such entry. */
struct orma_interned *orma_interning_find(const struct orma_interning *interning, uint32_t field,
					  uint64_t iid);
/* Returns the id that was noted with orma_interning_note_string(), or 0. Names are asked for with each event, so this reads no entry. */
static inline uint32_t orma_interning_string(const struct orma_interning *interning, uint32_t field,
					     uint64_t iid)
{
	const struct orma_interned_table *table = interning->tables[field];
	return table && iid < table->capacity ? table->string_ids[iid] : 0;
}
/* Notes the id of an entry's text in the engine's pool. Entries with large ids are left out. */
void orma_interning_note_string(struct orma_interning *interning, uint32_t field, uint64_t iid,
				uint32_t string_id);

#endif
