/* SPDX-License-Identifier: Apache-2.0
 * instance_config.h - what each instance of the data source "track_event" was configured with.
 */
#ifndef ORMA_TRACK_INSTANCE_CONFIG_H
#define ORMA_TRACK_INSTANCE_CONFIG_H

#include <orma/data_source.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/str.h"
#include "schema/gen/track_event_config.pb.h"

/* Constant while the instance is started. */
struct orma_track_instance {
	/* Written by the loop thread before the instance starts, read by the threads that emit.
	 * Atomic because such a thread may still be beginning a sequence of the previous
	 * instance. */
	_Atomic uint64_t unit_ns;       /* the unit of timestamps */
	_Atomic uint32_t clock_id;      /* the default clock of timestamps */
	_Atomic bool is_incremental;    /* timestamps are deltas */
	_Atomic bool filters_arguments; /* events are written without arguments */
	_Atomic bool filters_names;     /* names known only at run time are replaced */
	_Atomic bool samples_time;      /* events carry the CPU time of their thread */
	_Atomic uint64_t time_step_ns;  /* thread times are read at most this often */

	/* Guarded by the mutex of instance_config.c. */
	bool is_started;
	struct orma_arena arena; /* owns `config` */
	const struct orma_pb_track_event_config *config;
};

extern struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

/* Decodes a config, which is untrusted. */
void orma_track_configure(uint32_t idx, const void *config_untrusted, size_t size);
void orma_track_unconfigure(uint32_t idx);
void orma_track_instance_set_started(uint32_t idx, bool is_started);
/* Whether the instance is started and its config enables the category; see category_rule.h. */
bool orma_track_instance_wants(uint32_t idx, struct orma_str name, const char *tags);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_instances_forked(void);

#endif
