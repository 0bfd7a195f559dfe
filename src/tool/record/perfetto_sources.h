/* SPDX-License-Identifier: Apache-2.0
 * perfetto_sources.h - what the words of a `perfetto` command line without a config stand for.
 */
#ifndef ORMA_TOOL_PERFETTO_SOURCES_H
#define ORMA_TOOL_PERFETTO_SOURCES_H

#include "tool/record/record.h"

/*
 * Adds the words to the wish, as sources of `orma record`. Warns of those that exist on Android
 * alone. `ret` owns the array that the wish borrows; free it with orma_base_free(). 0 or -ENOMEM.
 */
int orma_perfetto_add_sources(const char *const *words, int count, struct orma_record_wish *wish,
			      const char ***ret);
/* Makes the wish that `-c :test` stands for: two seconds of scheduling, frequencies and idle states.
 * Otherwise the same. */
int orma_perfetto_add_test(struct orma_record_wish *wish, const char ***ret);

#endif
