/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer.h - one buffer of a trace config: chunks go in, whole packets come out.
 *
 * Threads:   a buffer belongs to one thread; two buffers share nothing.
 * Trust:     payload bytes, chunk ids, counts, flags and patches come from the producer and are
 *            checked here. The fields of struct orma_trace_buffer_writer come from the service and
 *            are trusted.
 * Lifetimes: the bytes and the writer that a read returns stay valid until the next write, patch,
 *            clear or free of that buffer, so many packets may be gathered for one writev(). The
 *            array of slices is valid only until the next read.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_H
#define ORMA_BUFFER_TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_trace_buffer;

enum orma_trace_buffer_policy {
	/* The oldest chunks make room for new ones. */
	ORMA_TRACE_BUFFER_RING,
	/* The first chunk that does not fit before the end of the buffer is refused, and so is
	 * every later one. */
	ORMA_TRACE_BUFFER_DISCARD,
};

/* Offsets of chunks have 32 bits, so the largest buffer is one page smaller than 4 GiB. */
#define ORMA_TRACE_BUFFER_SIZE_MAX_BYTES UINT64_C(0xfffff000)
#define ORMA_TRACE_BUFFER_PAGE_BYTES     4096u
/* The largest payload of a chunk; shared-memory pages have 32 KiB at most. */
#define ORMA_TRACE_BUFFER_PAYLOAD_MAX_BYTES 0xfff0u
/* Sequences without chunks that are remembered, so that a gap is noticed when the writer sends
 * again. */
#define ORMA_TRACE_BUFFER_EMPTY_SEQUENCES_MAX 1024u
/* A packet that is spread over more chunks than this is dropped. The largest packet takes less than
 * 70,000 pages of the smallest size. Looking for the end of a packet over this many chunks takes a
 * few milliseconds. */
#define ORMA_TRACE_BUFFER_SLICES_MAX (3u << 16)
/* Records and fragments that a read may visit before it returns without a packet; that takes one or
 * two milliseconds. */
#define ORMA_TRACE_BUFFER_STEPS_PER_READ 16384u
/* A late chunk may be inserted before at most this many records; beyond that it is a violation. */
#define ORMA_TRACE_BUFFER_LATE_MAX 32768u

/* The flags of a chunk in shared memory; the values of src/shm/abi.h. */
enum orma_trace_buffer_chunk_flag {
	ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS = 1,
	ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT = 2,
	ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING = 4,
};

/* TracePacket.previous_packet_dropped. PRESENT is set with every other bit. */
enum orma_trace_buffer_loss {
	ORMA_TRACE_BUFFER_LOSS_PRESENT = 1,
	ORMA_TRACE_BUFFER_LOSS_READ_GAP = 2,            /* chunk ids are missing */
	ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED = 4,     /* a fragment's size is impossible */
	ORMA_TRACE_BUFFER_LOSS_ORPHAN_CONTINUATION = 8, /* the packet's begin is gone */
	ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_GAP = 16,     /* chunk ids are missing inside a packet */
	ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_BROKEN =
		32,                                /* the next chunk does not continue the packet */
	ORMA_TRACE_BUFFER_LOSS_OVERWRITE = 64,     /* newer data took its place */
	ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT = 128, /* the writer gave the packet up */
	/* 256 (shared memory full) is set by writers, never here. */
};

/* The writer of a sequence. It comes with every chunk, is copied into the sequence, and is returned
 * with every packet. */
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
	bool is_complete; /* false: scraped while being written; the last fragment is ignored */
	bool is_scraped;  /* not committed yet; the producer will commit it if it lives */
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
	uint32_t loss; /* enum orma_trace_buffer_loss, since the sequence's previous packet */
};

/* TraceStats.BufferStats, field by field. "Bytes" include the 16-byte header and the alignment of a
 * chunk. bytes_written - bytes_read - bytes_overwritten is always the number of bytes that chunks
 * occupy, except in a clone, where counts of reading start at 0. padding_bytes_written -
 * padding_bytes_cleared is always the number of bytes that padding occupies. */
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
	uint64_t packets_written; /* that begin in complete chunks */
};

/* Reserves address space; the kernel supplies memory as data is written. size_bytes is rounded up
 * to whole pages (4096 bytes), at least one. Returns 0, -EMSGSIZE (size_bytes over
 * ORMA_TRACE_BUFFER_SIZE_MAX_BYTES) or -ENOMEM. */
int orma_trace_buffer_new(uint64_t size_bytes, enum orma_trace_buffer_policy policy,
			  struct orma_trace_buffer **ret);
void orma_trace_buffer_free(struct orma_trace_buffer *buffer);
/* Gives back about step_bytes of the memory of a buffer that is no longer used and is about to be
 * freed. Gives nothing back while the buffer is being copied. Returns false when nothing is left to
 * give back. */
bool orma_trace_buffer_shrink(struct orma_trace_buffer *buffer, uint32_t step_bytes);

/*
 * The same in steps. The copy is the buffer as it was when the copying began, even if the buffer
 * changes or is freed before the copy is complete. block_bytes is the unit of copying; 0 = the
 * usual size.
 */
struct orma_trace_buffer_copy;
#define ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES 0x10000u
int orma_trace_buffer_copy_begin(struct orma_trace_buffer *source, uint32_t block_bytes,
				 struct orma_trace_buffer_copy **ret);
/* Copies about budget_bytes. Returns 1 (there is more to copy), 0 (the copy can be taken) or
 * -ENOMEM. */
int orma_trace_buffer_copy_step(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes);
/* Ends the copying and returns the copy. One that is not complete may only be freed. */
struct orma_trace_buffer *orma_trace_buffer_copy_take(struct orma_trace_buffer_copy *copy);
/* Ends the copying without a result. */
void orma_trace_buffer_copy_free(struct orma_trace_buffer_copy *copy);

/*
 * Holds slices of the packet that was read last. Their bytes stay readable, even if the buffer
 * changes or is freed, until they are released and the hold is freed. Returns 0 or -ENOMEM.
 */
struct orma_trace_buffer_hold;
int orma_trace_buffer_hold_new(struct orma_trace_buffer *buffer,
			       const struct orma_trace_buffer_slice *slices, size_t count,
			       struct orma_trace_buffer_hold **ret);
/* Returns the current address of held bytes, which is valid until the buffer changes. `data` is the
 * beginning of a held slice, or of what has not been released of it. *size shrinks to the bytes
 * that are contiguous there. Returns NULL when there was no memory to save them. */
const uint8_t *orma_trace_buffer_hold_piece(const struct orma_trace_buffer_hold *hold,
					    const uint8_t *data, size_t *size);
/* Releases held bytes: `data` as in the slice, `size` as orma_trace_buffer_hold_piece() set it. */
void orma_trace_buffer_hold_release(struct orma_trace_buffer_hold *hold, const uint8_t *data,
				    size_t size);
void orma_trace_buffer_hold_free(struct orma_trace_buffer_hold *hold);

/**
 * orma_trace_buffer_write_chunk() - copy a chunk out of shared memory.
 *
 * A chunk whose id its sequence already has is a re-commit of a scraped chunk, and may only grow. A
 * chunk that was scraped whole and has been read since is ignored without being counted as
 * discarded. Ends the current read pass.
 *
 * Returns the bytes of payload that the chunk has in the buffer (the value for the
 * writer's histogram), or -ENOBUFS (DISCARD and full; the chunk is dropped), -EMSGSIZE (larger than
 * the buffer or than a chunk can be), -EPROTO (already consumed, shrunk, or too far out of order),
 * -ENOMEM (the chunk is dropped). Each is counted in the statistics.
 */
int orma_trace_buffer_write_chunk(struct orma_trace_buffer *buffer,
				  const struct orma_trace_buffer_chunk *chunk);

/* True when this sequence id belongs to the writer that used these two ids last. */
bool orma_trace_buffer_has_sequence(const struct orma_trace_buffer *buffer, uint16_t producer_id,
				    uint16_t writer_id, uint32_t sequence_id);
/* Counts patches that were addressed to another writer. */
void orma_trace_buffer_patches_failed(struct orma_trace_buffer *buffer, size_t count);
/* Overwrites four bytes of a chunk per patch; has_more = false makes the chunk readable. Applies
 * all patches or none. Returns 0, -ENOENT (the chunk is gone) or -EPROTO (a patch lies outside of
 * the chunk). Each patch is counted. */
int orma_trace_buffer_patch(struct orma_trace_buffer *buffer, uint16_t producer_id,
			    uint16_t writer_id, uint32_t chunk_id,
			    const struct orma_trace_buffer_patch *patches, size_t patch_count,
			    bool has_more);

/* Starts a read pass, which visits again the sequences that stalled in the previous one. */
void orma_trace_buffer_read_begin(struct orma_trace_buffer *buffer);
/* Continues the pass if it is not over and the buffer has not changed, otherwise starts a new one.
 * When passes start repeatedly without yielding a packet, more steps are allowed. */
void orma_trace_buffer_read_resume(struct orma_trace_buffer *buffer, uint32_t max_steps);
/* While `wait` is true, the reader does not pass a gap in the chunk ids of a sequence: the missing chunk is about to come,
 * and would come too late behind the gap. Ends the current read pass when it changes. */
void orma_trace_buffer_let_gaps_wait(struct orma_trace_buffer *buffer, bool wait);
/* The part of max_steps that the reads since then have left. */
uint32_t orma_trace_buffer_steps_left(const struct orma_trace_buffer *buffer);
/* Returns 1 and consumes the next whole packet, 0 when the pass is over, -EAGAIN when max_steps are
 * used up and the pass has to be resumed. Packets of one sequence come in order; those of different
 * sequences come roughly in the order in which they were written. Empty packets are skipped. */
int orma_trace_buffer_read_packet(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_packet *ret);
/* The caller discards the packet that was read last, because it is not valid. Its loss bits, and
 * CHUNK_CORRUPTED, go to the next packet of its sequence. */
void orma_trace_buffer_packet_refused(struct orma_trace_buffer *buffer);

/* The same for a packet that was read earlier and held; `loss` is the one it came with. */
void orma_trace_buffer_held_packet_refused(struct orma_trace_buffer *buffer,
					   const struct orma_trace_buffer_writer *writer,
					   uint32_t loss);

const struct orma_trace_buffer_stats *
orma_trace_buffer_stats(const struct orma_trace_buffer *buffer);
uint64_t orma_trace_buffer_size_bytes(const struct orma_trace_buffer *buffer);
/* How much of the buffer has ever been written, which is the memory that it takes. */
uint64_t orma_trace_buffer_used_bytes(const struct orma_trace_buffer *buffer);
/* True while a chunk has not been read to its end, even if that chunk waits for a patch. */
bool orma_trace_buffer_has_data(const struct orma_trace_buffer *buffer);
/* After a pass: true when a packet waits for its rest or for a patch. Visits each sequence. */
bool orma_trace_buffer_has_begun_packet(const struct orma_trace_buffer *buffer);

#endif
