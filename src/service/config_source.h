/* SPDX-License-Identifier: Apache-2.0
 * config_source.h - one entry of TraceConfig.data_sources; see config_source.c.
 */
#ifndef ORMA_SERVICE_CONFIG_SOURCE_H
#define ORMA_SERVICE_CONFIG_SOURCE_H

#include <orma/service.h>

#include "base/buf.h"
#include "base/str.h"
#include "proto/reader.h"
#include "service/filter/regex.h"

struct orma_service_session;

struct orma_service_source {
	const char *name;
	const char **producer_names; /* exact; change_config.c adds to them */
	size_t producer_name_count;
	struct orma_service_regex *producer_regexes; /* each matches a whole name */
	size_t producer_regex_count;
	const char **machine_names;
	size_t machine_name_count;
	uint32_t buffer_idx;
	struct orma_buf config; /* the DataSourceConfig that producers get */
};

/* The sources of a session, as many as its config has entries. */
struct orma_service_sources {
	struct orma_service_source *items;
	size_t count;
	size_t regex_count; /* total over all sources */
};

int orma_service_source_init(struct orma_service_session *session, size_t source_idx,
			     struct orma_error *reterr);
/* The next entry of data_sources in an encoded TraceConfig: 1, 0 = none is left, -EBADMSG. */
int orma_service_source_entry_next(struct orma_proto_reader *config, struct orma_str *ret);
int orma_service_source_encode(struct orma_service_session *session, size_t source_idx,
			       struct orma_str entry);
void orma_service_source_done(struct orma_service_source *source);
bool orma_service_source_matches(const struct orma_service_session *session,
				 const struct orma_service_source *source,
				 const struct orma_producer_port *producer);

#endif
