/* SPDX-License-Identifier: Apache-2.0
 * filter.h - a session's trace filter: copies only the parts of a packet that the config allows.
 */
#ifndef ORMA_SERVICE_FILTER_H
#define ORMA_SERVICE_FILTER_H

#include <orma/service.h>

#include "schema/gen/trace_config.pb.h"

struct orma_service_filter;

/* TraceStats.FilterStats; bytes_discarded_per_buffer is counted with the buffers. */
struct orma_service_filter_stats {
	uint64_t input_packets, input_bytes, output_bytes, errors, time_taken_ns;
};

/* The filter of a session. */
struct orma_service_session_filter {
	struct orma_service_filter *program; /* NULL = none */
	struct orma_service_filter_stats stats;
};

/* `config` must outlive the filter. -EINVAL (`reterr` names the field), -ENOMEM. */
int orma_service_filter_new(const struct orma_service *service,
			    const struct orma_pb_trace_config_trace_filter *config,
			    struct orma_service_filter **ret, struct orma_error *reterr);
void orma_service_filter_free(struct orma_service_filter *filter);
bool orma_service_filter_has_rules(const struct orma_service_filter *filter);
/* Filters one packet, given as slices. `out` has room for all of its bytes. -EBADMSG (not a
 * message, or nested too deeply), -ETIMEDOUT (its strings cost too much): nothing of the packet
 * may be shown. */
int orma_service_filter_packet(struct orma_service_filter *filter,
			       const struct orma_trace_slice *slices, size_t count, uint8_t *out,
			       size_t *ret_size);

#endif
