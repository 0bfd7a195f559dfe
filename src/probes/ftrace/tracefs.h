/* SPDX-License-Identifier: Apache-2.0
 * tracefs.h - one folder of tracefs: the root, or an instance with a ring buffer of its own.
 */
#ifndef ORMA_PROBES_TRACEFS_H
#define ORMA_PROBES_TRACEFS_H

#include <orma/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define ORMA_TRACEFS_PATH_BYTES 512 /* for the folder */
#define ORMA_TRACEFS_FILE_BYTES 256 /* for a file below it: "events/GROUP/NAME/format" */
#define ORMA_TRACEFS_LINE_BYTES 512 /* for the name of a function */
#define ORMA_TRACEFS_NAME_BYTES 96  /* for a group, an event, an option, an instance */

struct orma_tracefs {
	int fd; /* the folder; -1 = closed */
	char path[ORMA_TRACEFS_PATH_BYTES];
};

/* True for a name that can be one entry of a folder of tracefs: letters, digits and "_-.:", not beginning with a dot,
 * shorter than ORMA_TRACEFS_NAME_BYTES. */
bool orma_tracefs_is_name(struct orma_str name);

/*
 * Opens the folder. `root_path` NULL = where the kernel has it. `instance` empty = the root; "hyp" and "hypervisor" are
 * the kernel's names for the buffer of the hypervisor. 0, -ENOENT (not mounted, no such instance), -EACCES, -EINVAL (not
 * a name), or another -errno; the message says what to do.
 */
int orma_tracefs_open(const char *root_path, struct orma_str instance, struct orma_tracefs *ret,
		      struct orma_error *reterr);
/* NULL is fine, and a struct whose fd is -1. */
void orma_tracefs_close(struct orma_tracefs *fs);

/* Reads a file. `ret` points into `buf`. 0 or -errno. */
int orma_tracefs_read(const struct orma_tracefs *fs, const char *file, struct orma_buf *buf,
		      struct orma_str *ret);
/*
 * Reads a file in the form in which it can be written: the clock in brackets, "0" for no filter, the expanded size of the
 * buffer, no comments. 0, -EBADMSG (a size that differs between the CPUs), or another -errno.
 */
int orma_tracefs_value(const struct orma_tracefs *fs, const char *file, struct orma_buf *buf,
		       struct orma_str *ret);
/* The size of a CPU's buffer; 0 = it cannot be read. */
uint64_t orma_tracefs_buffer_kb(const struct orma_tracefs *fs, uint32_t cpu);
/* Replaces the content of a file; empty text clears it. 0 or -errno. A list of functions gets every line that the kernel
 * takes, also after an error. */
int orma_tracefs_write(const struct orma_tracefs *fs, const char *file, struct orma_str text);
/* Adds to a file that holds a list: kprobe_events, synthetic_events, trigger. 0 or -errno. */
int orma_tracefs_append(const struct orma_tracefs *fs, const char *file, struct orma_str text);
/* True when the file exists and this process may read it. */
bool orma_tracefs_is_readable(const struct orma_tracefs *fs, const char *file);

/* Writes "events/GROUP/NAME/LEAF", and returns it. */
const char *orma_tracefs_event_file(char file[ORMA_TRACEFS_FILE_BYTES], struct orma_str group,
				    struct orma_str name, const char *leaf);

/*
 * Returns 0 when nobody else uses the folder's buffer: its tracer is nop, and it is not recording events. Otherwise -EBUSY
 * and a message that says what is in use, and by which process as far as `proc_path` shows it.
 */
int orma_tracefs_check_unused(const struct orma_tracefs *fs, const char *proc_path,
			      struct orma_error *reterr);

#endif
