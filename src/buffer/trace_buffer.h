/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer.h - one buffer of a trace config: chunks go in, whole packets come out.
 *
 * Threads:   a buffer belongs to one thread; two buffers share nothing.
 * Trust:     payload bytes, chunk ids, counts, flags and patches are the producer's and are checked
 *            here. The fields of struct orma_trace_buffer_writer are the service's own word.
 * Lifetimes: the bytes and the writer that a read hands out stay valid until the next write, patch,
 *            clear or free of that buffer, the array of slices only until the next read: many
 *            packets may be gathered for one writev().
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_H
#define ORMA_BUFFER_TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_trace_buffer;

enum orma_trace_buffer_policy {
	ORMA_TRACE_BUFFER_RING, /* the oldest chunks make room */
	ORMA_TRACE_BUFFER_DISCARD, /* what does not fit before the end of the buffer is refused, from then
				on all is */
};

/* Chunks are addressed by 32-bit offsets, so a buffer ends one page short of 4 GiB. */
#define ORMA_TRACE_BUFFER_SIZE_MAX_BYTES UINT64_C(0xfffff000)
#define ORMA_TRACE_BUFFER_PAGE_BYTES     4096u
/* A chunk's payload; shared-memory pages have 32 KiB at most. */
#define ORMA_TRACE_BUFFER_PAYLOAD_MAX_BYTES 0xfff0u
/* Sequences without chunks that are remembered, to notice a gap when their writer comes back. */
#define ORMA_TRACE_BUFFER_EMPTY_SEQUENCES_MAX 1024u
/* A packet that is spread over more chunks than this is dropped. The largest packet takes less than
 * 70,000 pages of the smallest size; looking for an end this far away takes a few milliseconds. */
#define ORMA_TRACE_BUFFER_SLICES_MAX (3u << 16)
/* What reading may look at before it returns without a packet: a millisecond or two. */
#define ORMA_TRACE_BUFFER_STEPS_PER_READ 16384u
/* How far back in its sequence a late chunk may be put; more is counted as a violation. */
#define ORMA_TRACE_BUFFER_LATE_MAX 32768u

/* The flags of a chunk in shared memory (PROTOCOL: chunk header). */
enum orma_trace_buffer_chunk_flag {
	ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS = 1,
	ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT = 2,
	ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING = 4,
};

/* TracePacket.previous_packet_dropped. PRESENT is set with every other bit. */
enum orma_trace_buffer_loss {
	ORMA_TRACE_BUFFER_LOSS_PRESENT = 1,
	ORMA_TRACE_BUFFER_LOSS_READ_GAP = 2,            /* chunk ids are missing */
	ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED = 4,     /* a fragment's size cannot be */
	ORMA_TRACE_BUFFER_LOSS_ORPHAN_CONTINUATION = 8, /* a continuation whose begin is gone */
	ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_GAP = 16,     /* chunk ids are missing inside a packet */
	ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_BROKEN =
		32,                                /* the next chunk does not continue the packet */
	ORMA_TRACE_BUFFER_LOSS_OVERWRITE = 64,     /* newer data took the place */
	ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT = 128, /* the writer gave the packet up */
	/* 256 (shared memory full) is set by writers, never here. */
};

/* Who writes a sequence. Given with every chunk, copied into the sequence, handed back with every
 * packet. */
struct orma_trace_buffer_writer {
	uint16_t producer_id, writer_id; /* the key of the sequence */
	uint32_t sequence_id;            /* opaque: the caller's id of the sequence */
	int32_t uid, pid;
	uint32_t machine_id;
};

struct orma_trace_buffer_chunk {
	struct orma_trace_buffer_writer writer;
	uint32_t chunk_id;
	uint16_t fragment_count;
	uint8_t flags;    /* enum orma_trace_buffer_chunk_flag; other bits are ignored */
	bool is_complete; /* false: scraped while being written; its last fragment does not count */
	bool is_scraped;  /* the producer has not committed it, and will if it lives */
	const void *payload_untrusted; /* behind the chunk header; may change while it is read */
	size_t payload_size_bytes;
};

struct orma_trace_buffer_patch {
	uint32_t offset_untrusted; /* from the first byte of the payload */
	uint8_t data[4];
};

struct orma_trace_buffer_slice {
	const uint8_t *data;
	size_t size;
};

struct orma_trace_buffer_packet {
	const struct orma_trace_buffer_slice *slices; /* slice_count >= 1, none is empty */
	size_t slice_count, size_bytes;
	const struct orma_trace_buffer_writer *writer;
	uint32_t
		loss; /* enum orma_trace_buffer_loss: what the sequence lost since its previous packet */
};

/* TraceStats.BufferStats, field by field. "Bytes" include the 16-byte header and the alignment of a
 * chunk. At any time bytes_written - bytes_read - bytes_overwritten is what chunks occupy (a clone
 * starts to count reads anew, so not there), padding_written - padding_cleared what padding does.
 */
struct orma_trace_buffer_stats {
	uint64_t buffer_size;
	uint64_t bytes_written, bytes_overwritten, bytes_read;
	uint64_t padding_bytes_written, padding_bytes_cleared;
	uint64_t chunks_written, chunks_rewritten, chunks_relocated, chunks_overwritten,
		chunks_discarded, chunks_read;
	uint64_t chunks_committed_out_of_order;
	uint64_t write_wrap_count;
	uint64_t patches_succeeded, patches_failed;
	uint64_t readaheads_succeeded, readaheads_failed;
	uint64_t abi_violations;
	uint64_t trace_writer_packet_loss;
};

/* Address space for the buffer; memory comes as data does. size_bytes is rounded up to a page
 * (4096), at least one. 0, -EMSGSIZE (over ORMA_TRACE_BUFFER_SIZE_MAX_BYTES), -ENOMEM. */
int orma_trace_buffer_new(uint64_t size_bytes, enum orma_trace_buffer_policy policy,
			  struct orma_trace_buffer **ret);
void orma_trace_buffer_free(struct orma_trace_buffer *buffer);
/* Gives back some of the memory of a buffer that is only to be freed; at most about step_bytes, and
 * none as long as it is being copied. False when there is no more. */
bool orma_trace_buffer_shrink(struct orma_trace_buffer *buffer, uint32_t step_bytes);
/* A copy with everything that is still unread, to be read; what is read from one stays in the
 * other. Counts of reading start at 0. 0 or -ENOMEM. */
int orma_trace_buffer_clone(struct orma_trace_buffer *buffer, struct orma_trace_buffer **ret);

/*
 * The same in steps: the copy is the buffer as it was at the beginning, whatever happens to the
 * buffer meanwhile, its end included. Steps cost about budget_bytes of copying. Block 0 = the usual
 * size.
 */
struct orma_trace_buffer_copy;
#define ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES 0x10000u
int orma_trace_buffer_copy_begin(struct orma_trace_buffer *source, uint32_t block_bytes,
				 struct orma_trace_buffer_copy **ret);
/* 1 = there is more to do, 0 = the copy can be taken, -ENOMEM. */
int orma_trace_buffer_copy_step(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes);
/* Ends the copying. What is not complete is only to be freed. */
struct orma_trace_buffer *orma_trace_buffer_copy_take(struct orma_trace_buffer_copy *copy);
/* Ends the copying without a result. */
void orma_trace_buffer_copy_free(struct orma_trace_buffer_copy *copy);

/*
 * Holds slices of the packet that was read last: their bytes stay readable, whatever happens to the
 * buffer, its end included, until they are released and the hold is freed. -ENOMEM.
 */
struct orma_trace_buffer_hold;
int orma_trace_buffer_hold_new(struct orma_trace_buffer *buffer,
			       const struct orma_trace_buffer_slice *slices, size_t count,
			       struct orma_trace_buffer_hold **ret);
/* Where the beginning of a held slice, or of its rest, is until the buffer changes again; *size
 * shrinks to what is there in one piece. NULL: lost for lack of memory. */
const uint8_t *orma_trace_buffer_hold_piece(const struct orma_trace_buffer_hold *hold,
					    const uint8_t *data, size_t *size);
/* A piece, by its address and size in the slice, is not needed any more. */
void orma_trace_buffer_hold_release(struct orma_trace_buffer_hold *hold, const uint8_t *data,
				    size_t size);
void orma_trace_buffer_hold_free(struct orma_trace_buffer_hold *hold);

/* As new: no chunks, no sequences, statistics zero; the memory goes back to the system. */
void orma_trace_buffer_clear(struct orma_trace_buffer *buffer);

/**
 * orma_trace_buffer_write_chunk() - copy a chunk out of shared memory.
 *
 * A chunk whose id its sequence already has is a re-commit of a scraped one: it may only grow; one
 * that was scraped whole and read since is known and not counted as discarded. Ends the current
 * read pass.
 *
 * Returns the bytes of payload that the chunk has in the buffer (the value for the
 * writer's histogram), or -ENOBUFS (DISCARD and full; the chunk is dropped), -EMSGSIZE (larger than
 * the buffer or than a chunk can be), -EPROTO (already consumed, shrunk, or too far out of order),
 * -ENOMEM (the chunk is dropped). Each is counted in the statistics.
 */
int orma_trace_buffer_write_chunk(struct orma_trace_buffer *buffer,
				  const struct orma_trace_buffer_chunk *chunk);

/* The writer of these ids whose chunks came last is the one of that sequence. */
bool orma_trace_buffer_has_sequence(const struct orma_trace_buffer *buffer, uint16_t producer_id,
				    uint16_t writer_id, uint32_t sequence_id);
/* Counts patches that are not for that one. */
void orma_trace_buffer_patches_failed(struct orma_trace_buffer *buffer, size_t count);
/* Overwrites four bytes per patch in a chunk; has_more = false makes the chunk readable. All
 * patches are applied or none. 0, -ENOENT (the chunk is gone), -EPROTO (outside of the chunk).
 * Counted per patch. */
int orma_trace_buffer_patch(struct orma_trace_buffer *buffer, uint16_t producer_id,
			    uint16_t writer_id, uint32_t chunk_id,
			    const struct orma_trace_buffer_patch *patches, size_t patch_count,
			    bool has_more);

/* Starts a read pass: sequences that stalled in the previous pass are looked at again. */
void orma_trace_buffer_read_begin(struct orma_trace_buffer *buffer);
/* Goes on with the pass when it is not over and the buffer is as it was; else starts one, and when
 * that happens again and again without a packet, allows more steps. */
void orma_trace_buffer_read_resume(struct orma_trace_buffer *buffer, uint32_t max_steps);
/* What is left of max_steps. */
uint32_t orma_trace_buffer_steps_left(const struct orma_trace_buffer *buffer);
/* 1 and the next whole packet (consumed by that), 0 when this pass is over, -EAGAIN when max_steps
 * have been taken: resume. Roughly in the order of writing, per sequence exactly. Packets without
 * bytes are skipped. */
int orma_trace_buffer_read_packet(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_packet *ret);
/* The packet read last is thrown away by the caller (it failed validation): its loss bits, and
 * CHUNK_CORRUPTED, go to the next packet of its sequence. */
void orma_trace_buffer_packet_refused(struct orma_trace_buffer *buffer);

/* The same for a packet that was held since. `loss` as it was told with it. */
void orma_trace_buffer_held_packet_refused(struct orma_trace_buffer *buffer,
					   const struct orma_trace_buffer_writer *writer,
					   uint32_t loss);

const struct orma_trace_buffer_stats *
orma_trace_buffer_stats(const struct orma_trace_buffer *buffer);
uint64_t orma_trace_buffer_size_bytes(const struct orma_trace_buffer *buffer);
/* How much of the buffer was ever written: the memory it costs. */
uint64_t orma_trace_buffer_used_bytes(const struct orma_trace_buffer *buffer);
/* True while there is a chunk that is not read to its end, even one that waits for a patch. */
bool orma_trace_buffer_has_data(const struct orma_trace_buffer *buffer);
/* After a pass: some sequence has a packet whose rest, or a patch, has not come yet. Looks at each
 * sequence. */
bool orma_trace_buffer_has_begun_packet(const struct orma_trace_buffer *buffer);

#endif
