/* SPDX-License-Identifier: Apache-2.0
 * format.h - what a reader of one format is given, and the list of all of them.
 */
#ifndef ORMA_FORMATS_FORMAT_H
#define ORMA_FORMATS_FORMAT_H

#include <orma/error.h>

#include "formats/packet_output.h"

/* As much of a file's beginning is shown to each format; a shorter file is shown whole. */
enum { ORMA_FORMAT_BEGINNING_BYTES = 4096 };

struct orma_archive;

struct orma_conversion {
	int fd; /* the file, or the folder; borrowed */
	struct orma_trace_bytes
		*input; /* the file's bytes, under any address; empty for a folder */
	struct orma_packet_output *output; /* for a format of traces */
	uint64_t folder_bytes;            /* a format of folders sets it to the size of the files */
	struct orma_trace_bytes *content; /* for a wrapper: the spool takes what it wraps */
	struct orma_archive *archive;     /* for an archive */
};

struct orma_format {
	const char *name; /* as in the trace processor's trace_type */
	bool is_folder;   /* `detect` is asked about folders, with an empty beginning */
	bool is_wrapper;  /* it holds a file of any format */
	bool (*detect)(int fd, struct orma_str beginning);
	/* 0; -EBADMSG with `reterr`: what came before the damage is converted; or another negative errno value. */
	int (*convert)(struct orma_conversion *conversion, struct orma_error *reterr);
};

/* Archives hold files of any formats, which `convert` adds to the archive. */
extern const struct orma_format orma_format_tar;
extern const struct orma_format orma_format_zip;

extern const struct orma_format orma_format_collapsed;
extern const struct orma_format orma_format_ctf;
extern const struct orma_format orma_format_gzip;
extern const struct orma_format orma_format_json;
extern const struct orma_format orma_format_ninja;
extern const struct orma_format orma_format_perf;
extern const struct orma_format orma_format_perf_text;
extern const struct orma_format orma_format_pprof;
extern const struct orma_format orma_format_report;
extern const struct orma_format orma_format_strace;
extern const struct orma_format orma_format_systrace;
extern const struct orma_format orma_format_zstd;

#endif
