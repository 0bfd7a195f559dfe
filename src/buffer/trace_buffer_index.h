/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_index.h - which sequences a trace buffer has, and which records each of them has.
 *
 * Sequences are named by slot + 1 in the table, so that 0 can mean none.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_INDEX_H
#define ORMA_BUFFER_TRACE_BUFFER_INDEX_H

#include "buffer/trace_buffer_layout.h"

/* The sequence that now has this key; 0 = none. */
uint32_t orma_trace_buffer_sequence_find(const struct orma_trace_buffer_sequence_table *table,
					 uint16_t producer_id, uint16_t writer_id);
/* The same, but opens a sequence when there is none, or when the key now belongs to another writer.
 * 0 or -ENOMEM. */
int orma_trace_buffer_sequence_open(struct orma_trace_buffer *buffer,
				    const struct orma_trace_buffer_writer *writer,
				    uint32_t *ret_sequence);
/* emptied: call when the sequence has lost its last record; filled: before it gets its first
 * one. */
void orma_trace_buffer_sequence_emptied(struct orma_trace_buffer *buffer, uint32_t sequence);
void orma_trace_buffer_sequence_filled(struct orma_trace_buffer *buffer, uint32_t sequence);
/* Frees a few of the empty sequences beyond ORMA_TRACE_BUFFER_EMPTY_SEQUENCES_MAX. */
void orma_trace_buffer_sequence_forget_oldest(struct orma_trace_buffer *buffer);
/* Frees the lists of `count` sequences of a buffer that is about to be freed. False when no
 * sequence is left. */
bool orma_trace_buffer_sequences_shrink(struct orma_trace_buffer_sequence_table *table,
					uint32_t count);
void orma_trace_buffer_sequences_done(struct orma_trace_buffer_sequence_table *table);

/* Makes room for one more entry: 0 or -ENOMEM. */
int orma_trace_buffer_record_list_reserve(struct orma_trace_buffer_record_list *list);
/* 1: *ret_position has that id; 0: that is where the id belongs; -EPROTO: the id is not within half
 * a circle of the others. */
int orma_trace_buffer_record_list_find(const struct orma_trace_buffer *buffer,
				       const struct orma_trace_buffer_record_list *list,
				       uint32_t chunk_id, uint32_t *ret_position);
/* Call orma_trace_buffer_record_list_reserve() first. */
void orma_trace_buffer_record_list_insert(struct orma_trace_buffer_record_list *list,
					  uint32_t position,
					  struct orma_trace_buffer_record_entry entry,
					  uint32_t chunk_id);
/* Removes the first entry. */
void orma_trace_buffer_record_list_pop(struct orma_trace_buffer_record_list *list);

#endif
