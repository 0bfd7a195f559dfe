/* SPDX-License-Identifier: Apache-2.0
 * heap_send.h - writes the packets of a session that are neither samples nor frees.
 *
 * Threads: the library's, unless it says otherwise.
 */
#ifndef ORMA_HEAP_HEAP_SEND_H
#define ORMA_HEAP_HEAP_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORMA_HEAP_COMMAND_BYTES 4096u

/* Reads the beginning of this process's command line. Each argument ends with NUL, and so does the text. Returns the number of bytes
 * before that; 0 = the command line is not known. Any thread. */
size_t orma_heap_read_command(char ret[ORMA_HEAP_COMMAND_BYTES]);
void orma_heap_send_process(uint32_t instance, bool is_starting, bool is_forked);
/* Any thread. */
void orma_heap_send_heap(uint32_t instance, uint32_t heap_id, uint64_t original_interval);
/*
 * Sends the counts of losses, if they have changed since the last call for this session. `reported` belongs to the session, and is 0
 * at first. Packets are lost while shared memory is full. So the library's thread always keeps a chunk with room for the next such
 * packet; if it has none, it sends the counts without a change, only to get a chunk. False if the packet was lost; then the next
 * call sends the counts.
 */
bool orma_heap_send_losses(uint32_t instance, uint64_t *reported);

#endif
