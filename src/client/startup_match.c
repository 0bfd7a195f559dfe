/* SPDX-License-Identifier: Apache-2.0
 * startup_match.c - does a session ask for what startup tracing has begun?
 *
 * The application may decide (may_adopt). Otherwise both configs must be the same, apart from the fields
 * that a service fills in.
 */
#include "client/startup_match.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "client/client_source.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"

/* The config without the fields that only a service knows; upstream compares the same. */
static int get_comparable(struct orma_str config_untrusted, struct orma_arena *arena,
			  struct orma_buf *ret)
{
	struct orma_pb_data_source_config *config;
	int r = orma_pb_data_source_config_decode(config_untrusted.data, config_untrusted.size,
						  arena, &config);

	if (r < 0)
		return r;
	orma_pb_data_source_config_set_target_buffer(config, 0);
	orma_pb_data_source_config_set_target_buffer_name(config, ORMA_STR(""));
	orma_pb_data_source_config_set_trace_duration_ms(config, 0);
	orma_pb_data_source_config_set_tracing_session_id(config, 0);
	orma_pb_data_source_config_set_enable_extra_guardrails(config, false);
	orma_pb_data_source_config_set_stop_timeout_ms(config, 0);
	orma_pb_data_source_config_set_session_initiator(config, 0);
	orma_pb_data_source_config_set_prefer_suspend_clock_for_duration(config, false);
	return orma_proto_encode(config, ret);
}

static bool are_configs_equal(struct orma_str startup, struct orma_str config)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf a = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf b = {0};

	return get_comparable(startup, &arena, &a) == 0 &&
	       get_comparable(config, &arena, &b) == 0 && a.size == b.size &&
	       memcmp(a.data, b.data, a.size) == 0;
}

bool orma_client_startup_matches(const struct orma_data_source *source, struct orma_str startup,
				 struct orma_str config)
{
	const struct orma_data_source_options *options = &source->options;

	if (options->may_adopt)
		return options->may_adopt(options->ctx, startup.data, startup.size, config.data,
					  config.size);
	return are_configs_equal(startup, config);
}
