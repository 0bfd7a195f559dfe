/* SPDX-License-Identifier: Apache-2.0
 * orma/state.h - the producers of a service, their data sources, and the service's sessions.
 *
 * orma_session_read_state() returns the struct. orma_service_state_parse() makes it from a
 * serialized TracingServiceState message, which orma_session_query_state() and
 * orma_consumer_port_query_state() return. Texts are never NULL; a member that a service does not
 * send is "" or 0.
 *
 * Threads: plain data; the functions are MT-safe.
 * Builds:  a library that was built with ORMA_PRODUCER_ONLY has none of these functions.
 */
#ifndef ORMA_STATE_H
#define ORMA_STATE_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_producer_state {
	size_t struct_size;
	int32_t id;
	const char *name, *sdk_version;
	int32_t uid, pid;
	uint32_t machine_id; /* 0 = the service's own machine */
	const char *machine_name;
};

struct orma_data_source_state {
	size_t struct_size;
	const char *name;
	int32_t producer_id;
	const void *descriptor; /* serialized DataSourceDescriptor: categories and the like */
	size_t descriptor_size;
};

struct orma_session_state {
	size_t struct_size;
	uint64_t id; /* for orma_session_clone() */
	const char *unique_name;
	const char *state; /* DISABLED, CONFIGURED, STARTED, STOP_WAIT, CLONED_READ_ONLY */
	bool is_started;
	int32_t uid;
	uint32_t duration_ms; /* 0 = until it is stopped */
	uint32_t data_source_count;
	uint64_t buffers_bytes;    /* total of its buffers */
	int64_t start_realtime_ns; /* CLOCK_REALTIME */
	int32_t bugreport_score;
};

struct orma_service_state {
	size_t struct_size; /* set by the library: members beyond it do not exist */
	const char *version;
	uint32_t session_count, started_count; /* sessions of all users */

	size_t producer_count, data_source_count;
	const struct orma_producer_state *const *producers;
	const struct orma_data_source_state *const *data_sources;
	/* The sessions of the user that asks, or all sessions for root. Old services list none. */
	bool lists_sessions;
	size_t listed_count;
	const struct orma_session_state *const *sessions;
};

/**
 * orma_service_state_parse() - decode a serialized TracingServiceState message.
 * @ret: set on success only; owned by the caller, see orma_service_state_free().
 *
 * Returns 0, -EBADMSG (`data` does not decode), -EINVAL, -ENOMEM (also if it needs more than 64
 * MiB).
 */
ORMA_API int orma_service_state_parse(const void *data, size_t size,
				      struct orma_service_state **ret);
/** orma_service_state_free() - free the struct and everything in it. NULL is fine. */
ORMA_API void orma_service_state_free(struct orma_service_state *state);

#ifdef __cplusplus
}
#endif
#endif
