/* SPDX-License-Identifier: Apache-2.0
 * live_import.h - imports a trace while it is recorded.
 *
 * Packets are imported at once, in the order of the file, and their rows are shown while they are new; tables of events
 * forget older rows, and their arguments and texts pass with them. So memory holds the threads, tracks, names and the
 * incremental states, and not the events.
 */
#ifndef ORMA_TRACE_LIVE_IMPORT_H
#define ORMA_TRACE_LIVE_IMPORT_H

#include "trace/importer.h"
#include "trace/kernel_args.h"

/* Sees a new row, with its arguments. The texts of cells and arguments that pass (see tables.h) are there until the next packet. */
typedef int orma_live_row_fn(void *ctx, enum orma_table_id table, uint64_t row,
			     const struct orma_arg_list *args);

/* {.on_row, .on_end, .ctx, .unpack, .seed} are set by the caller; the rest is 0. */
struct orma_live_import {
	orma_live_row_fn *on_row; /* a negative value ends the import with it */
	void (*on_end)(void *ctx, int64_t slice, int64_t dur);
	void *ctx;
	orma_unpack_fn *unpack; /* NULL = packets that are compressed are not read */
	uint64_t seed;          /* see packet_index.h */
	/* The rest is its own. */
	struct orma_tables tables;
	struct orma_string_pool passing;
	struct orma_importer importer;
	struct orma_trace_bytes input; /* empty: packets are gone when they were imported */
	struct orma_map states;        /* struct orma_sequence_state by sequence and machine */
	struct orma_bundle_events bundle;
	struct orma_kernel_args kernel_args;
	struct orma_arg_list args;
	uint32_t machine_count;
	uint64_t seen[ORMA_TABLES]; /* rows that were shown */
};

/* 0 or a negative errno value; the import is to be given to done() in any case. */
int orma_live_import_init(struct orma_live_import *live);
void orma_live_import_done(struct orma_live_import *live);
/* Imports the next packet of the file. 0, the function's error, -ENOMEM and others. Packets that make no sense are left out. */
int orma_live_import_packet(struct orma_live_import *live, struct orma_str packet);

#endif
