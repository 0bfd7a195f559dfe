/* SPDX-License-Identifier: Apache-2.0
 * ctf_folder.h - a folder with traces in the Common Trace Format, as LTTng writes them: each in a folder of its own with
 * the file `metadata`, at any depth.
 */
#ifndef ORMA_FORMATS_CTF_FOLDER_H
#define ORMA_FORMATS_CTF_FOLDER_H

#include "formats/ctf_output.h"

enum {
	ORMA_CTF_FOLDER_DEPTH_MAX = 16,
	ORMA_CTF_FOLDERS_MAX = 1 << 14,
	ORMA_CTF_FILES_MAX = 1 << 18, /* in all folders */
	ORMA_CTF_TRACES_MAX = 1 << 10,
};

/* The files of one trace; paths begin at the folder that was named. */
struct orma_ctf_found {
	struct orma_str folder;
	const char *metadata;
	ORMA_CTF_LIST(const char *) files; /* by name */
};

/* {0} is empty. */
struct orma_ctf_folder {
	struct orma_arena arena;
	ORMA_CTF_LIST(struct orma_ctf_found) traces; /* by path */
};

/* Finds the traces below a folder. 0, -ENOENT (there is none), -EMSGSIZE with reterr, -ENOMEM, or an error of reading a
 * folder. */
int orma_ctf_folder_find(struct orma_ctf_folder *folder, int fd, struct orma_error *reterr);
void orma_ctf_folder_done(struct orma_ctf_folder *folder);

/* The result of a conversion. */
struct orma_ctf_report {
	struct orma_ctf_counts counts;
	uint32_t traces, streams, foreign_files;
	uint64_t bytes; /* the metadata and the streams */
};

/*
 * Converts all traces below a folder into Perfetto packets. 0; -ENOENT: there is none; -EBADMSG with reterr: the metadata of
 * one makes no sense; or another negative errno value. Damage in streams is only counted.
 */
int orma_ctf_convert(int fd, orma_ctf_write_fn *write, void *ctx, struct orma_ctf_report *ret,
		     struct orma_error *reterr);

#endif
