/* SPDX-License-Identifier: Apache-2.0
 * output_folder.h - the folder below which the daemon creates files for users other than its own
 * (`orma traced --output-dir`).
 */
#ifndef ORMA_TOOL_OUTPUT_FOLDER_H
#define ORMA_TOOL_OUTPUT_FOLDER_H

#include <orma/error.h>

struct orma_output_folder {
	int fd; /* O_PATH; -1 = there is none */
	/* the path as given, and the absolute path without links; both without a final slash */
	char *path, *real_path;
};

#define ORMA_OUTPUT_FOLDER_NONE                                                                    \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Opens the folder; `path` is borrowed for the call. 0, or -errno with `reterr`. */
int orma_output_folder_open(const char *path, struct orma_output_folder *ret,
			    struct orma_error *reterr);
/* Does nothing when no folder is open. */
void orma_output_folder_close(struct orma_output_folder *folder);

/*
 * Checks the text of a path only, so it never waits for a file system. *ret_rest is the part of
 * `path` below the folder; a relative path is below it as a whole. -EACCES: there is no folder.
 * -EXDEV: the path is outside, has a "..", or does not end with the name of a file.
 */
int orma_output_folder_check(const struct orma_output_folder *folder, const char *path_untrusted,
			     const char **ret_rest, struct orma_error *reterr);
/*
 * Opens the folder that holds the last name of `rest`, without following symbolic links (-ELOOP).
 * *ret_name points to that name in `rest`. May wait for the file system. Other errors are those of
 * system calls.
 */
int orma_output_folder_enter(const struct orma_output_folder *folder, const char *rest, int *ret_fd,
			     const char **ret_name);

#endif
