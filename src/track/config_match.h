/* SPDX-License-Identifier: Apache-2.0
 * config_match.h - whether a session may continue what startup tracing recorded.
 */
#ifndef ORMA_TRACK_CONFIG_MATCH_H
#define ORMA_TRACK_CONFIG_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Both configs are a DataSourceConfig, and untrusted. */
bool orma_track_startup_matches(const void *startup_config, size_t startup_size, const void *config,
				size_t size);

#endif
