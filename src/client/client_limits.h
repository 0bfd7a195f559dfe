/* SPDX-License-Identifier: Apache-2.0
 * client_limits.h - the limits of everything that a peer or the application can make grow, and the delays.
 */
#ifndef ORMA_CLIENT_CLIENT_LIMITS_H
#define ORMA_CLIENT_CLIENT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define ORMA_DATA_SOURCES_MAX 32 /* per process */
#define ORMA_CLIENT_HOT_PLACE                                                                      \
	0 /* for track events; given to others only when no other place is free */
#define ORMA_CLIENT_FLUSHES_MAX                                                                    \
	64 /* unanswered flushes per connection; over it the oldest is dropped */
#define ORMA_CLIENT_COMMANDS_MAX 4096 /* commands that wait for the loop thread, per transport */
/* Bytes of a data source's descriptor and name. Together with the fields that a service's state adds they
 * have to fit into a frame of 128 KiB. */
#define ORMA_CLIENT_DESCRIPTOR_MAX ((size_t)126 * 1024)
#define ORMA_CLIENT_CONFIG_MAX                                                                     \
	((size_t)1024 * 1024) /* bytes of an instance's config, over a custom transport */
#define ORMA_CLIENT_STATE_BYTES_MAX                                                                \
	((size_t)64 * 1024 * 1024)         /* bytes of a service's state, as structs */
#define ORMA_CLIENT_STATS_BUFFERS_MAX 4096 /* buffers in a service's statistics */
#define ORMA_CLIENT_QUEUE_BYTES       ((size_t)4 * 1024 * 1024) /* bytes not yet sent to a daemon */

#define ORMA_CLIENT_RETIRED_MAX 32  /* unregistered data sources whose handles can still be used */
#define ORMA_CLIENT_LINGER_MS   200 /* how long unregistering waits for packets to end */
#define ORMA_CLIENT_TRIGGERS_MAX                                                                   \
	64 /* calls that a service does not know of yet; over it the oldest is dropped */
#define ORMA_CLIENT_TRIGGER_BYTES_MAX ((size_t)16 * 1024) /* names of one call, with their NULs */
#define ORMA_CLIENT_STARTUP_MS        10000 /* how long startup tracing waits for a session */

#define ORMA_CLIENT_RETRY_MIN_NS  UINT64_C(100000000)
#define ORMA_CLIENT_RETRY_MAX_NS  UINT64_C(2000000000)
#define ORMA_CLIENT_RETRY_SEEN_NS UINT64_C(5000000) /* after a change of the socket's file */
/* After a change of other files in its folder, which may be a busy one. */
#define ORMA_CLIENT_RETRY_PAUSE_NS UINT64_C(100000000)
#define ORMA_CLIENT_COMMIT_NS      UINT64_C(1000000) /* how long finished chunks are gathered */
#define ORMA_CLIENT_RECOVERY_SEC   1 /* after the program has closed the descriptors */
#define ORMA_CLIENT_DRAIN_NS       UINT64_C(1000000000) /* orma_shutdown() waits for the service */

#endif
