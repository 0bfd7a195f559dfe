/* SPDX-License-Identifier: Apache-2.0
 * formats.h - opens a trace of any format as a trace of packets.
 */
#ifndef ORMA_FORMATS_FORMATS_H
#define ORMA_FORMATS_FORMATS_H

#include <orma/error.h>

#include "trace/converted_packets.h"
#include "trace/trace_bytes.h"
#include "trace/trace_files.h"

/*
 * Opens a file, a pipe or a folder for src/trace. A trace of packets is read where it is; any other is converted into the
 * spool of *ret, which is in `folder` (NULL = TMPDIR, else /var/tmp). `fd` stays the caller's, open as long as *ret.
 *
 * 0 (*ret is the file), 1 (it is converted, and `fd` is needed no longer), or a negative errno value: -EBADMSG with *ret
 * and `reterr` when the file is damaged, and what came before is converted; -EPROTONOSUPPORT when it is of no known format.
 * In each case *ret is to be closed with orma_trace_bytes_done().
 */
int orma_formats_open(int fd, const char *folder, struct orma_trace_bytes *ret,
		      struct orma_error *reterr);

/* A trace that the user names. */
struct orma_formats_source {
	int fd;
	const char *name; /* for messages and the list of files; NULL = not known */
};

struct orma_formats_options {
	const char *folder; /* for the spool, as above */
	/* Only src/trace reads the packets, so those of a format with records (trace/event_record.h) may have them. */
	bool has_records;
	/* Called with packets of a trace that is one file and is converted, in their order; NULL = not called. */
	orma_converted_fn *converted;
	void *converted_ctx;
};

/*
 * The same for one trace or several, which become one: as the files of an archive they share the tables, and their sequences stay
 * apart. `files`, which is empty, gets a list of them and of what is in them. Errors of one of several begin with its name.
 */
int orma_formats_open_all(const struct orma_formats_source *sources, size_t count,
			  const struct orma_formats_options *options,
			  struct orma_trace_files *files, struct orma_trace_bytes *ret,
			  struct orma_error *reterr);
/* Returns the name of the format of a file with this beginning, or of an open folder; "proto" for a trace of packets, NULL for
 * no known one. `fd` is -1 when it is not known. */
const char *orma_formats_name(int fd, struct orma_str beginning);

#endif
