/* SPDX-License-Identifier: Apache-2.0
 * interned_name.h - names of events, keys of arguments and the like, each with an id.
 */
#ifndef ORMA_TRACK_INTERNED_NAME_H
#define ORMA_TRACK_INTERNED_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Immutable once it has an id; lives as long as the process. */
struct orma_track_name {
	const char *text;  /* as it was given; NUL-terminated */
	const char *clean; /* the same as valid UTF-8; equally long */
	size_t size;
	uint64_t
		counter_hash; /* the uuid of a counter track of this name, xor the process's uuid */
	uint32_t id;          /* 1..ORMA_TRACK_NAMES_MAX - 1 */
};

/*
 * Returns the id of a text, which its first use creates. Returns 0 when the text is too long, when
 * there are too many names, or without memory. Takes a lock at the first use only.
 */
uint32_t orma_track_name_intern_size(const char *text, size_t size, bool is_dynamic);
static inline uint32_t orma_track_name_intern(const char *text)
{
	return orma_track_name_intern_size(text, strlen(text), false);
}
const struct orma_track_name *orma_track_name_get(uint32_t id);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_interned_names_forked(void);

#endif
