/* SPDX-License-Identifier: Apache-2.0
 * heap_send.h - writes the packets of a session that are neither samples nor frees.
 *
 * Threads: the library's, unless it says otherwise.
 */
#ifndef ORMA_HEAP_HEAP_SEND_H
#define ORMA_HEAP_HEAP_SEND_H

#include <stdbool.h>
#include <stdint.h>

#define ORMA_HEAP_COMMAND_BYTES 65536u

void orma_heap_send_process(uint32_t instance, bool is_starting, bool is_forked);
/* Any thread. */
void orma_heap_send_heap(uint32_t instance, uint32_t heap_id, uint64_t original_interval);
/*
 * Tells what was lost, if that has changed since the last call for this session. `told` is the session's, and 0 at first.
 * Losses come when shared memory is full. So the library's thread always has a chunk in hand with room for the next message of
 * this kind: without news it writes one only to get such a chunk. False: the counts could not be told, so the next call tells
 * them.
 */
bool orma_heap_send_losses(uint32_t instance, uint64_t *told);

#endif
