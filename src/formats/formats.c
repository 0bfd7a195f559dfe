/* SPDX-License-Identifier: Apache-2.0
 * formats.c - tells formats by the first bytes, and converts until packets are left.
 *
 *   file --(wrapper: gzip)--> spool --(wrapper: tar)--> spool --(format: json)--> spool of packets
 *
 * Each step reads one orma_trace_bytes and writes the next; the one that was read is closed. A trace of packets needs no
 * step. Formats are asked in the order of the trace processor, because some beginnings fit several of them.
 */
#include "formats/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "formats/archive.h"
#include "formats/packet_join.h"
#include "store/grow.h"

/* A wrapper in a wrapper, and so on. */
enum { STEPS_MAX = 8, PACKET_TAG = 0x0a };

/* In the order in which they are asked. */
/* clang-format off */
static const struct orma_format *const formats[] = {
	&orma_format_ctf,
	&orma_format_tar,
	&orma_format_perf,
	&orma_format_zip,
	&orma_format_gzip,
	&orma_format_zstd,
	&orma_format_json,
	&orma_format_ninja,
	&orma_format_collapsed,
	&orma_format_perf_text,
	&orma_format_strace,
	&orma_format_report,
	&orma_format_systrace,
	&orma_format_pprof,
};
/* clang-format on */

static bool is_folder(int fd)
{
	struct stat status;
	return fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

static const struct orma_format *find_format(int fd, struct orma_str beginning)
{
	bool of_folder = is_folder(fd);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(formats); i++)
		if (formats[i]->is_folder == of_folder && formats[i]->detect(fd, beginning))
			return formats[i];
	return NULL;
}

const char *orma_formats_name(int fd, struct orma_str beginning)
{
	const struct orma_format *format = find_format(fd, beginning);
	if (format)
		return format->name;
	return beginning.size > 0 && beginning.data[0] == PACKET_TAG ? "proto" : NULL;
}

/* Shows the first bytes of the input to the formats. 1 (*ret is one of them, or NULL for packets) or a negative errno
 * value. */
static int detect(int fd, const struct orma_trace_bytes *input, const struct orma_format **ret)
{
	struct orma_trace_window window = {0};
	uint64_t end = orma_trace_bytes_end(input);
	size_t size = (size_t)ORMA_MIN(end, (uint64_t)ORMA_FORMAT_BEGINNING_BYTES);
	const uint8_t *data = NULL;
	int r = size > 0 ? orma_trace_window_read(&window, input, 0, size, size, &data) : 1;
	struct orma_str beginning = {(const char *)data, r > 0 ? size : 0};
	if (r >= 0) {
		*ret = find_format(fd, beginning);
		bool is_known = *ret || (beginning.size > 0 && data[0] == PACKET_TAG) ||
				(beginning.size == 0 && !is_folder(fd));
		r = is_known ? 1 : -EPROTONOSUPPORT;
	}
	orma_trace_window_done(&window);
	return r;
}

static bool is_archive(const struct orma_format *format)
{
	return format == &orma_format_tar || format == &orma_format_zip;
}

/* A file of an archive, or one of several that the user names. Traces of packets come first, because their snapshots relate
 * the clocks of the others. */
struct file {
	struct orma_trace_bytes bytes;
	char *name;
	int fd;          /* a folder that the user names, or -1 */
	int32_t number;  /* in the list of files */
	uint32_t wanted; /* the user's order, from 1; 0 = the order of names */
	unsigned kind, depth;
};

struct orma_archive {
	struct file *files; /* waiting from `next` on */
	uint32_t count, capacity, next;
	struct orma_trace_files *list;
	int32_t file;   /* the number of the archive that adds files */
	unsigned depth; /* its depth */
	const struct orma_formats_options *options;
	bool is_joined; /* conversions write parts of the trace, and not the trace */
};

#define UNKNOWN_TYPE "Unknown trace type provided (ERR:fmt)"

static int refuse_format(struct orma_error *reterr)
{
	return orma_base_error_set(reterr, -EPROTONOSUPPORT, UNKNOWN_TYPE);
}

/* Tells what has become of a file on its way to packets. */
struct way {
	struct orma_trace_files *files;
	int32_t file;      /* the number of what it is now */
	bool is_converted; /* it is not what it was at the beginning */
	bool is_archive;   /* its files are in the archive */
	int damage;
};

static int convert(const struct orma_format *format, int fd, struct orma_trace_bytes *input,
		   struct orma_archive *archive, const struct way *way,
		   struct orma_trace_bytes *ret, struct orma_error *reterr)
{
	struct orma_packet_output output;
	struct orma_conversion conversion = {
		.fd = fd, .input = input, .content = ret, .archive = archive};
	*ret = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1, .folder = input->folder};
	if (format->is_wrapper || is_archive(format))
		return format->convert(&conversion, reterr);
	orma_packet_output_init(&output, ret);
	output.has_records = archive->options->has_records;
	output.converted = archive->is_joined ? NULL : archive->options->converted;
	output.converted_ctx = archive->options->converted_ctx;
	conversion.output = &output;
	int r = format->convert(&conversion, reterr);
	way->files->items[way->file].size_bytes += conversion.folder_bytes;
	int finished = orma_packet_output_finish(&output, format->name,
						 way->files->items[way->file].size_bytes);
	/* An error of writing is the cause of what the reader says. */
	return finished < 0 ? finished : r;
}

/* Writes the first line of a text in quotes, or the first bytes of anything else in hex. */
static void show_beginning(struct orma_str beginning, struct orma_buf *ret)
{
	enum { TEXT_MAX = 40, BYTES_MAX = 8 };
	struct orma_str rest = beginning;
	size_t step;
	while (beginning.size - rest.size < TEXT_MAX &&
	       (step = orma_base_utf8_visible_size(rest)) > 0) {
		rest.data += step;
		rest.size -= step;
	}
	size_t size = beginning.size - rest.size;
	bool is_text = size > 0 && (size >= TEXT_MAX || rest.size == 0 || rest.data[0] == '\n' ||
				    rest.data[0] == '\r' || rest.data[0] == '\t');
	if (is_text)
		(void)orma_base_buf_printf(ret, "\"%.*s\"", (int)size, beginning.data);
	for (size_t i = 0; i < beginning.size && i < BYTES_MAX && !is_text; i++)
		(void)orma_base_buf_printf(ret, "%s%02x", i > 0 ? " " : "",
					   (unsigned char)beginning.data[i]);
}

/* The user cannot see what content is that a wrapper had, so the message shows its beginning. */
static int fail_unpacked(const struct orma_trace_bytes *bytes, struct orma_error *reterr)
{
	enum { SHOWN_BYTES = 64 };
	ORMA_AUTO(orma_base_buf_done) struct orma_buf shown = {0};
	struct orma_trace_window window = {0};
	size_t size = (size_t)ORMA_MIN(orma_trace_bytes_end(bytes), (uint64_t)SHOWN_BYTES);
	const uint8_t *data;
	if (size > 0 && orma_trace_window_read(&window, bytes, 0, size, size, &data) > 0)
		show_beginning((struct orma_str){(const char *)data, size}, &shown);
	orma_trace_window_done(&window);
	return orma_base_error_set(reterr, -EPROTONOSUPPORT,
				   UNKNOWN_TYPE ": what was unpacked begins with %.*s",
				   (int)shown.size, (const char *)shown.data);
}

/* Converts a file until packets are left, or until its files are in the archive. 0 or a negative errno value. */
static int follow(int fd, struct orma_trace_bytes *bytes, struct orma_archive *archive,
		  struct way *way, struct orma_error *reterr)
{
	int r = 0;
	for (int step = 0; r == 0; step++) {
		const struct orma_format *format;
		struct orma_trace_bytes next;
		r = detect(fd, bytes, &format);
		if (r == -EPROTONOSUPPORT)
			return step > 0 ? fail_unpacked(bytes, reterr) : refuse_format(reterr);
		if (r < 0)
			return r;
		orma_trace_files_begin(way->files, way->file, format ? format->name : "proto",
				       orma_trace_bytes_end(bytes),
				       format && (format->is_wrapper || is_archive(format)));
		if (!format)
			return 0;
		if (step == STEPS_MAX)
			return orma_base_error_set(reterr, -EPROTONOSUPPORT,
						   "more than %d wrappers are one in the other",
						   STEPS_MAX);
		archive->file = way->file;
		r = convert(format, fd, bytes, archive, way, &next, reterr);
		orma_trace_bytes_done(bytes);
		*bytes = next;
		fd = -1;
		way->is_converted = true;
		way->is_archive = is_archive(format);
		/* The first damage is the cause of any later. */
		if (r == -EBADMSG) {
			way->damage = r;
			reterr = NULL;
			r = 0;
		}
		if (!format->is_wrapper || r < 0)
			break;
		r = way->file = orma_trace_files_add(way->files, ORMA_STR(""), way->file);
		r = ORMA_MIN(r, 0);
	}
	return r;
}

/* --- archives --------------------------------------------------------------------------------- */

enum { ARCHIVE_FILES_MAX = 512, ARCHIVE_DEPTH_MAX = 4, KIND_PACKETS = 0, KIND_WRAPPER, KIND_OTHER };

static unsigned kind_of(int fd, const struct orma_trace_bytes *bytes)
{
	const struct orma_format *format;
	if (detect(fd, bytes, &format) < 0)
		return KIND_OTHER;
	if (!format)
		return KIND_PACKETS;
	return format->is_wrapper || is_archive(format) ? KIND_WRAPPER : KIND_OTHER;
}

/* Takes a file, whose content becomes empty. Returns it, or NULL with the error in *ret. */
static struct file *add_file(struct orma_archive *archive, int fd, struct orma_str name,
			     struct orma_trace_bytes *content, int *ret)
{
	if (archive->count == ARCHIVE_FILES_MAX) {
		*ret = -EMSGSIZE;
		return NULL;
	}
	*ret = orma_store_grow(&archive->files, (uint64_t)archive->count + 1, &archive->capacity,
			       sizeof(*archive->files));
	int32_t number = *ret < 0 ? *ret : orma_trace_files_add(archive->list, name, archive->file);
	char *copy = number < 0 ? NULL : orma_base_str_dup(name);
	if (!copy) {
		*ret = number < 0 ? number : -ENOMEM;
		return NULL;
	}
	struct file *file = &archive->files[archive->count++];
	*file = (struct file){.bytes = *content,
			      .name = copy,
			      .fd = fd,
			      .number = number,
			      .kind = kind_of(fd, content),
			      .depth = archive->depth};
	*content = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1};
	return file;
}

int orma_archive_add(struct orma_archive *archive, struct orma_str name,
		     struct orma_trace_bytes *content)
{
	int r;
	add_file(archive, -1, name, content, &r);
	return r;
}

static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->wanted != y->wanted)
		return x->wanted < y->wanted ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void archive_done(struct orma_archive *archive)
{
	for (uint32_t i = 0; i < archive->count; i++) {
		orma_trace_bytes_done(&archive->files[i].bytes);
		orma_base_free(archive->files[i].name);
	}
	orma_base_free(archive->files);
}

/* Adds a file's trace to the join, or its files to the archive. 1 (it was a trace), 0 or a negative errno value. */
static int join_file(struct orma_archive *archive, const struct file *file,
		     struct orma_trace_bytes *bytes, struct orma_packet_join *join, int *retdamage,
		     struct orma_error *reterr)
{
	struct way way = {.files = archive->list, .file = file->number};
	archive->depth = file->depth + 1;
	int r = archive->depth > ARCHIVE_DEPTH_MAX ? -EPROTONOSUPPORT
						   : follow(file->fd, bytes, archive, &way, reterr);
	*retdamage = way.damage;
	if (r < 0 || way.is_archive)
		return r;
	r = orma_packet_join_add(join, (uint32_t)way.file, bytes);
	if (r == -EBADMSG && !*retdamage)
		orma_base_error_set(reterr, r, "the trace is damaged at byte %llu",
				    (unsigned long long)join->end_address);
	if (r == -EBADMSG)
		*retdamage = r;
	return r == -EBADMSG || r == 0 ? 1 : r;
}

/* Sorts the files that the last archive has added, and adds the traces among them to the join. Files of no known format are
 * left out, but not those that the user names. Returns how many traces there were, or a negative errno value. */
static int join_files(struct orma_archive *archive, struct orma_packet_join *join, int *retdamage,
		      struct orma_error *reterr)
{
	uint32_t sorted = 0;
	int traces = 0;
	while (archive->next < archive->count) {
		if (sorted < archive->count)
			qsort(archive->files + archive->next, archive->count - archive->next,
			      sizeof(*archive->files), compare_files);
		sorted = archive->count;
		/* The array may move while the file is read. */
		struct file file = archive->files[archive->next];
		struct orma_error error = {0};
		int damage = 0;
		archive->files[archive->next++].bytes =
			(struct orma_trace_bytes){.fd = -1, .spool_fd = -1};
		int r = join_file(archive, &file, &file.bytes, join, &damage, &error);
		orma_trace_bytes_done(&file.bytes);
		bool is_failure = r < 0 && (r != -EPROTONOSUPPORT || file.wanted);
		if (is_failure || (damage && !*retdamage))
			orma_base_error_set(reterr, r, "%s: %s", file.name,
					    error.message[0] ? error.message
							     : orma_base_error_words(r));
		if (is_failure)
			return r;
		*retdamage = *retdamage ? *retdamage : damage;
		traces += r > 0;
	}
	return traces;
}

/* Makes one trace of all files. 0 or a negative errno value. */
static int join_all(struct orma_archive *archive, int *retdamage, struct orma_trace_bytes *ret,
		    struct orma_error *reterr)
{
	struct orma_packet_join join = {.output = ret};
	archive->is_joined = true;
	int r = join_files(archive, &join, retdamage, reterr);
	orma_packet_join_done(&join);
	if (r == 0)
		return orma_base_error_set(reterr, -EPROTONOSUPPORT,
					   "there is no trace in the archive");
	return ORMA_MIN(r, 0);
}

/* A pipe or a device may have no end, so its format is looked at first. */
static int open_bytes(int fd, const char *folder, struct orma_trace_bytes *ret,
		      struct orma_error *reterr)
{
	const struct orma_format *format;
	int r = orma_trace_bytes_begin(ret, fd, folder, ORMA_FORMAT_BEGINNING_BYTES);
	if (r == 0)
		r = detect(fd, ret, &format);
	if (r == -EPROTONOSUPPORT)
		return refuse_format(reterr);
	return r < 0 ? r : orma_trace_bytes_read_rest(ret);
}

static int open_one(const struct orma_formats_source *source,
		    const struct orma_formats_options *options, struct orma_trace_files *files,
		    struct orma_trace_bytes *ret, struct orma_error *reterr)
{
	struct orma_archive archive = {.list = files, .options = options};
	struct way way = {.files = files,
			  .file = orma_trace_files_add(files, orma_base_str(source->name),
						       ORMA_TRACE_FILE_NONE)};
	int r = ORMA_MIN(way.file, 0);
	if (r == 0 && !is_folder(source->fd))
		r = open_bytes(source->fd, ret->folder, ret, reterr);
	way.is_converted = ret->size == 0;
	if (r == 0)
		r = follow(source->fd, ret, &archive, &way, reterr);
	if (r == 0 && way.is_archive)
		r = join_all(&archive, &way.damage, ret, way.damage ? NULL : reterr);
	archive_done(&archive);
	if (r < 0)
		return r;
	return way.damage ? way.damage : way.is_converted;
}

static int add_source(struct orma_archive *archive, const struct orma_formats_source *source,
		      const char *folder)
{
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1, .folder = folder};
	bool of_folder = is_folder(source->fd);
	int r = of_folder ? 0 : orma_trace_bytes_open(&bytes, source->fd, folder);
	struct file *file =
		r < 0 ? NULL
		      : add_file(archive, of_folder ? source->fd : -1,
				 orma_base_str(source->name ? source->name : ""), &bytes, &r);
	if (file)
		file->wanted = archive->count;
	orma_trace_bytes_done(&bytes);
	return r;
}

int orma_formats_open_all(const struct orma_formats_source *sources, size_t count,
			  const struct orma_formats_options *options,
			  struct orma_trace_files *files, struct orma_trace_bytes *ret,
			  struct orma_error *reterr)
{
	*ret = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1, .folder = options->folder};
	if (count == 1)
		return open_one(sources, options, files, ret, reterr);
	struct orma_archive archive = {
		.list = files, .file = ORMA_TRACE_FILE_NONE, .options = options};
	int r = 0, damage = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		r = add_source(&archive, &sources[i], options->folder);
		if (r < 0)
			orma_base_error_set(reterr, r, "%s: %s", sources[i].name,
					    orma_base_error_words(r));
	}
	if (r == 0)
		r = join_all(&archive, &damage, ret, reterr);
	archive_done(&archive);
	if (r < 0)
		return r;
	return damage ? damage : 1;
}

int orma_formats_open(int fd, const char *folder, struct orma_trace_bytes *ret,
		      struct orma_error *reterr)
{
	struct orma_trace_files files = {0};
	struct orma_formats_source source = {.fd = fd};
	struct orma_formats_options options = {.folder = folder};
	int r = orma_formats_open_all(&source, 1, &options, &files, ret, reterr);
	orma_trace_files_done(&files);
	return r;
}
