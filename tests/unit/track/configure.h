/* SPDX-License-Identifier: Apache-2.0
 * configure.h - an instance of the data source "track_event" as a session would set it up.
 */
#ifndef ORMA_TEST_TRACK_CONFIGURE_H
#define ORMA_TEST_TRACK_CONFIGURE_H

#include "base/buf.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "track/instance_config.h"

/* Configures the instance with `text`, which is wrapped in a DataSourceConfig. */
static inline void configure(uint32_t idx, const char *text)
{
	struct orma_arena arena = {0};
	struct orma_pb_data_source_config *config = orma_pb_data_source_config_new(&arena);
	struct orma_buf buf = {0};
	struct orma_error error;

	if (orma_proto_text_parse(&orma_pb_track_event_config_desc, "test", text, strlen(text), 0,
				  &arena, &config->track_event_config, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(config, &buf), 0);
	orma_track_configure(idx, buf.data, buf.size);
	orma_base_buf_done(&buf);
	orma_base_arena_done(&arena);
}

#endif
