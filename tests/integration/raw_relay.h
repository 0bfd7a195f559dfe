/* SPDX-License-Identifier: Apache-2.0
 * raw_relay.h - another machine: its relay, and producers whose connections a relay would
 * forward.
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_RELAY_H
#define ORMA_TESTS_INTEGRATION_RAW_RELAY_H

#include "raw_client.h"
#include "raw_producer.h"

/* SetPeerIdentity as upstream's relay sends it: every field, request id 0. */
void orma_raw_identify(struct orma_raw_client *client, int32_t pid, int32_t uid, const char *hint,
		       const char *machine_name);
/* The machine id that the service derives from a hint. */
uint32_t orma_raw_machine_id(const char *hint);

/* Connects, identifies itself, binds RelayPort. */
void orma_raw_relay_open(struct orma_raw_client *client, uint16_t port, const char *hint);
/* InitRelay with a SystemInfo in text format; SyncClock with a request in text format. True if
 * the call succeeded. */
bool orma_raw_relay_init(struct orma_raw_client *client, const char *system_info);
bool orma_raw_relay_sync(struct orma_raw_client *client, const char *request);
/* PING and UPDATE with these readings of boot time. */
void orma_raw_relay_round(struct orma_raw_client *client, uint64_t ping_ns, uint64_t update_ns);

/* A producer of that machine: identity, bind, InitializeConnection, stream of commands. */
void orma_raw_remote_open(struct orma_raw_producer *producer, uint16_t port, const char *hint,
			  const char *machine_name, const char *name);

#endif
