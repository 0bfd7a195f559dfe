/* SPDX-License-Identifier: Apache-2.0
 * config_check.h - checks whether a consumer may have a session; see config_check.c, config_rivals.c.
 */
#ifndef ORMA_SERVICE_CONFIG_CHECK_H
#define ORMA_SERVICE_CONFIG_CHECK_H

#include <orma/service.h>

#include "schema/gen/trace_config.pb.h"

int orma_service_config_check(const struct orma_service *service,
			      const struct orma_consumer_port *port,
			      const struct orma_pb_trace_config *config, int file_fd,
			      struct orma_error *reterr);
/* The part that depends on the other sessions. */
int orma_service_config_check_rivals(const struct orma_service *service, uid_t uid, bool has_rights,
				     const struct orma_pb_trace_config *config,
				     struct orma_error *reterr);

#endif
