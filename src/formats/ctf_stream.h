/* SPDX-License-Identifier: Apache-2.0
 * ctf_stream.h - the packets of one stream of a trace, which may be in several files, and the events in them.
 */
#ifndef ORMA_FORMATS_CTF_STREAM_H
#define ORMA_FORMATS_CTF_STREAM_H

#include "formats/ctf_trace.h"

enum {
	ORMA_CTF_PACKET_MAX = 192 << 20, /* bytes; less than a message of protobuf can have */
	ORMA_CTF_HEAD_MAX = 1 << 20,     /* bytes of a packet's header and context */
};

/* The facts that a packet gives about itself. */
struct orma_ctf_packet {
	uint64_t begin, end; /* the clock's readings, in cycles */
	uint64_t discarded;  /* events of this stream until its end */
	uint64_t number, instance, cpu;
	bool has_begin, has_end, has_discarded, has_number, has_instance, has_cpu;
	uint64_t bytes; /* in the file */
	uint64_t content_bits, head_bits;
};

/* A file of a stream, and its first packet. */
struct orma_ctf_file {
	const char *path;
	struct orma_ctf_stream_plan *plan;
	struct orma_ctf_packet first;
	uint64_t bytes;
};

struct orma_ctf_counts {
	uint64_t events, packets;
	uint64_t discarded_events, lost_packets; /* by the tracer */
	uint64_t bad_packets;                    /* some or all of them could not be read */
	uint64_t cut_packets;                    /* at the end of a file */
};

/* {.fd = -1} is empty. */
struct orma_ctf_stream {
	const struct orma_ctf_trace *trace;
	const struct orma_ctf_file *files; /* borrowed; of one stream, in the order of time */
	uint32_t file_count, next_file;
	struct orma_ctf_stream_plan *plan;
	int folder_fd; /* where the paths begin; borrowed */
	int fd;
	uint64_t file_size, file_at;
	struct orma_buf bytes; /* the packet's */
	struct orma_ctf_reader reader;
	struct orma_ctf_packet packet;
	bool has_packet;
	/* The event that was read last; its values are the reader's. */
	const struct orma_ctf_event *event;
	/* Since the event before it, the tracer has discarded some. */
	bool has_loss;
	/* The facts of the packet before. */
	bool has_before;
	struct orma_ctf_packet before;
	struct orma_ctf_counts counts;
};

/*
 * Reads the header of a file's first packet. 1; 0: the file is empty or cut in it; -EBADMSG: it is no stream of this trace;
 * or another error. `fd` stays the caller's.
 */
int orma_ctf_file_look(const struct orma_ctf_trace *trace, int fd, struct orma_ctf_file *ret);

/* Reads the next event. 1, 0 (there is none), -ENOMEM, or an error of reading a file. Damage is counted. */
int orma_ctf_stream_next(struct orma_ctf_stream *stream);
void orma_ctf_stream_done(struct orma_ctf_stream *stream);

#endif
