/* SPDX-License-Identifier: Apache-2.0
 * trace_index.c - a file beside a trace that keeps its tables, so that they need not be filled again.
 *
 *   | head, 4 KB | data of blocks | notes | spool |
 *
 * The first parts are mapped, and columns refer to the mapping; see store/image.h. The spool holds what was unpacked or
 * converted, where arguments are read from; of a trace that is read where it is, it is empty. It is not in the sum: a packet
 * in it is checked when it is read, as one in a trace is.
 *
 * The tables of a trace keep rules that answers rely on: ids are rows that exist, a parent comes before its children. To
 * check them all takes as long as to fill the tables. So an index has a sum that only the user who wrote it can make, and
 * any other index is not taken. Headers of blocks and all notes are checked all the same, so that no byte beside the parts is
 * touched.
 *
 * Rejected: a checksum without a key, which a stranger's index would have, too. Also rejected: to check parts when they are used
 * for the first time, because columns are read by pointers.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/fd.h"
#include "base/macros.h"
#include "store/image.h"
#include "trace/import_image.h"

enum {
	HEAD_BYTES = ORMA_SUM_BLOCK_BYTES,
	/* Increase it when the importer fills tables in another way, or when the parts change. */
	INDEX_VERSION = 2,
	SAMPLES = 64, /* blocks of the trace that its sum is over */
	COPY_BYTES = 1 << 16,
};

/* All words but the last go into the sum. */
struct head {
	char magic[8];
	uint64_t byte_order, schema;
	uint64_t trace_bytes, trace_ns, trace_sum; /* the trace when the index was written */
	uint64_t has_no_raw_events;
	uint64_t input_bytes; /* the trace's size if it is read where it is, or 0 */
	uint64_t data_bytes, notes_bytes, spool_bytes;
	uint64_t sum;
};
_Static_assert(sizeof(struct head) == 12 * sizeof(uint64_t), "the head has no gaps");

/* Returns a hash of all that an index depends on besides its trace. */
static uint64_t schema_of(const struct orma_tables *tables)
{
	const uint32_t sizes[] = {INDEX_VERSION, ORMA_TABLES, sizeof(struct orma_bundle),
				  sizeof(struct orma_note), sizeof(struct orma_generic_event)};
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, sizes, sizeof(sizes));
	hash = orma_base_fnv1a(hash, ORMA_VERSION_STRING, sizeof(ORMA_VERSION_STRING));
	for (size_t i = 0; i < ORMA_TABLES; i++)
		for (size_t k = 0; k < tables->all[i].column_count; k++) {
			const struct orma_column_spec *spec = &tables->all[i].specs[k];
			uint32_t kind[] = {(uint32_t)i, spec->type};
			hash = orma_base_fnv1a(hash, spec->name, strlen(spec->name));
			hash = orma_base_fnv1a(hash, kind, sizeof(kind));
		}
	return hash;
}

static int read_all(int fd, void *ret, size_t size, uint64_t at)
{
	uint8_t *bytes = ret;
	while (size > 0) {
		ssize_t got = pread(fd, bytes, size, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		bytes += got;
		size -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

static int stat_trace(int fd, uint64_t *retbytes, uint64_t *retns)
{
	struct stat info;
	if (fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -ENOTSUP;
	*retbytes = (uint64_t)info.st_size;
	*retns = (uint64_t)info.st_mtim.tv_sec * 1000000000 + (uint64_t)info.st_mtim.tv_nsec;
	return 0;
}

int orma_trace_index_note_file(struct orma_trace_database *database, int fd)
{
	int r = stat_trace(fd, &database->trace_bytes, &database->trace_ns);
	/* A pipe can be asked, but gets no index. */
	return r == -ENOTSUP ? 0 : r;
}

/* Fills in what a trace is: its size and time, and the sum of blocks from all over it. */
static int describe_trace(int fd, const uint8_t *key, struct head *ret)
{
	struct orma_keyed_sum sum;
	int r = stat_trace(fd, &ret->trace_bytes, &ret->trace_ns);
	if (r < 0)
		return r;
	orma_keyed_sum_init(&sum, key);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint8_t block[ORMA_SUM_BLOCK_BYTES] = {0};
		uint64_t size = ORMA_MIN(ret->trace_bytes, (uint64_t)sizeof(block));
		/* The first and the last block are among them. */
		uint64_t at = (ret->trace_bytes - size) / (SAMPLES - 1) * i;
		if (i == SAMPLES - 1)
			at = ret->trace_bytes - size;
		r = read_all(fd, block, (size_t)size, at);
		if (r < 0)
			return r;
		orma_keyed_sum_blocks(&sum, block, 1);
	}
	ret->trace_sum = orma_keyed_sum_finish(&sum);
	return 0;
}

static void begin_head(const struct orma_trace_database *database, struct head *ret)
{
	*ret = (struct head){.magic = "ormaidx",
			     .byte_order = UINT64_C(0x0102030405060708),
			     .schema = schema_of(&database->tables),
			     .has_no_raw_events = database->options.has_no_raw_events};
}

static uint64_t finish_sum(struct orma_keyed_sum *sum, const struct head *head)
{
	uint64_t words[sizeof(*head) / sizeof(uint64_t)];
	memcpy(words, head, sizeof(words));
	for (size_t i = 0; i + 1 < sizeof(words) / sizeof(*words); i++)
		orma_keyed_sum_word(sum, words[i]);
	return orma_keyed_sum_finish(sum);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t size, uint64_t at)
{
	const uint8_t *bytes = data;
	while (size > 0) {
		ssize_t written = pwrite(fd, bytes, size, (off_t)at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		bytes += written;
		size -= (size_t)written;
		at += (uint64_t)written;
	}
	return 0;
}

static int copy_spool(const struct orma_trace_bytes *input, int fd, uint64_t to)
{
	uint8_t bytes[COPY_BYTES];
	int r = 0;
	for (uint64_t at = 0; at < input->spool_size && r == 0; at += COPY_BYTES) {
		size_t size = (size_t)ORMA_MIN(input->spool_size - at, (uint64_t)sizeof(bytes));
		r = read_all(input->spool_fd, bytes, size, input->spool_start + at);
		if (r == 0)
			r = write_all(fd, bytes, size, to + at);
	}
	return r;
}

int orma_trace_database_write_index(struct orma_trace_database *database, int fd,
				    const struct orma_trace_index *index)
{
	struct orma_image_writer image = {.fd = index->fd, .start = HEAD_BYTES};
	const struct orma_trace_bytes *input = &database->input;
	uint8_t block[HEAD_BYTES] = {0};
	struct head head;
	begin_head(database, &head);
	int r = describe_trace(fd, index->key, &head);
	if (r == 0 &&
	    (head.trace_bytes != database->trace_bytes || head.trace_ns != database->trace_ns))
		r = -ESTALE;
	/* The states of threads and some kernel events are rows only from when somebody asks for them. */
	if (r == 0)
		r = orma_thread_states_finish(&database->importer.sched.states);
	if (r == 0)
		r = orma_raw_events_finish(&database->importer.system.raw_events);
	if (r < 0)
		return r;
	orma_keyed_sum_init(&image.sum, index->key);
	orma_import_image_save(&database->importer, &image);
	head.input_bytes = input->size;
	head.data_bytes = image.data_bytes;
	head.notes_bytes = image.notes.size;
	head.spool_bytes = input->spool_size;
	orma_image_finish(&image);
	r = image.error;
	if (r == 0)
		r = copy_spool(input, index->fd, HEAD_BYTES + image.written_bytes);
	head.sum = finish_sum(&image.sum, &head);
	memcpy(block, &head, sizeof(head));
	if (r == 0)
		r = write_all(index->fd, block, sizeof(block), 0);
	orma_image_writer_done(&image);
	return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns 0 when the index is of this trace. */
static int check_trace(const struct orma_trace_database *database, int fd, const uint8_t *key,
		       const struct head *head)
{
	struct head expected;
	begin_head(database, &expected);
	int r = describe_trace(fd, key, &expected);
	if (r < 0)
		return r;
	return memcmp(head, &expected, offsetof(struct head, input_bytes)) == 0 ? 0 : -ESTALE;
}

/* Maps the parts, when the file has them. */
static int map_parts(struct orma_trace_database *database, int fd, const struct head *head)
{
	struct stat info;
	const uint64_t limit = INT64_MAX / 4;
	if (fstat(fd, &info) < 0)
		return -errno;
	if (head->data_bytes > limit || head->notes_bytes > limit || head->spool_bytes > limit)
		return -EBADMSG;
	uint64_t size = HEAD_BYTES + orma_image_part_bytes(head->data_bytes) +
			orma_image_part_bytes(head->notes_bytes);
	if (size > SIZE_MAX || size + head->spool_bytes > (uint64_t)info.st_size ||
	    (head->input_bytes != 0 && head->input_bytes != head->trace_bytes))
		return -EBADMSG;
	void *mapped = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	database->mapped = mapped;
	database->mapped_bytes = (size_t)size;
	return 0;
}

static bool check_sum(const struct orma_trace_database *database, const uint8_t *key,
		      const struct head *head)
{
	struct orma_keyed_sum sum;
	orma_keyed_sum_init(&sum, key);
	orma_keyed_sum_blocks(&sum, (const uint8_t *)database->mapped + HEAD_BYTES,
			      (database->mapped_bytes - HEAD_BYTES) / ORMA_SUM_BLOCK_BYTES);
	return finish_sum(&sum, head) == head->sum;
}

static int open_input(struct orma_trace_database *database, int fd, int index_fd,
		      const struct head *head)
{
	database->input = (struct orma_trace_bytes){.fd = fd,
						    .spool_fd = -1,
						    .size = head->input_bytes,
						    .spool_size = head->spool_bytes,
						    .spool_start = database->mapped_bytes};
	if (head->spool_bytes == 0)
		return 0;
	database->input.spool_fd = orma_base_fd_duplicate(index_fd);
	return ORMA_MIN(database->input.spool_fd, 0);
}

int orma_trace_index_restore(struct orma_trace_database *database, int fd,
			     const struct orma_trace_index *index)
{
	struct head head;
	int r = read_all(index->fd, &head, sizeof(head), 0);
	if (r == 0)
		r = check_trace(database, fd, index->key, &head);
	if (r == 0)
		r = map_parts(database, index->fd, &head);
	if (r == 0 && !check_sum(database, index->key, &head))
		r = -EBADMSG;
	if (r == 0)
		r = open_input(database, fd, index->fd, &head);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	const uint8_t *data = (const uint8_t *)database->mapped + HEAD_BYTES;
	const uint8_t *notes = data + orma_image_part_bytes(head.data_bytes);
	struct orma_image_reader image = {.data = data,
					  .data_bytes = head.data_bytes,
					  .notes = notes,
					  .end = notes + head.notes_bytes};
	return orma_import_image_restore(&database->importer, &database->tables, &database->input,
					 database->options.unpack, &image);
}
