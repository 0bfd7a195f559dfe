/* SPDX-License-Identifier: Apache-2.0
 * journal_library.h - the functions of libsystemd that read the journal, found at run time.
 *
 * The functions have the names and contracts of sd-journal(3) without their prefix: they return a
 * negative errno value on failure.
 */
#ifndef ORMA_PROBES_JOURNAL_LIBRARY_H
#define ORMA_PROBES_JOURNAL_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

struct sd_journal;

#define ORMA_JOURNAL_LOCAL_ONLY 1 /* a flag of open() */

struct orma_journal_api {
	int (*open)(struct sd_journal **ret, int flags);
	void (*close)(struct sd_journal *journal);
	int (*add_match)(struct sd_journal *journal, const void *data, size_t size);
	int (*has_runtime_files)(struct sd_journal *journal);
	int (*has_persistent_files)(struct sd_journal *journal);
	int (*get_fd)(struct sd_journal *journal);
	int (*process)(struct sd_journal *journal);
	int (*seek_head)(struct sd_journal *journal);
	int (*seek_tail)(struct sd_journal *journal);
	int (*next)(struct sd_journal *journal);
	int (*previous)(struct sd_journal *journal);
	int (*get_monotonic_usec)(struct sd_journal *journal, uint64_t *ret_us, void *ret_boot_id);
	void (*restart_data)(struct sd_journal *journal);
	int (*enumerate_data)(struct sd_journal *journal, const void **ret, size_t *ret_size);
};

/*
 * Returns the functions of libsystemd.so.0, which stays loaded; NULL when there is no such library,
 * or it lacks a function. *ret_missing says what is missing, and is valid until the next call of
 * dlopen() or dlsym().
 */
const struct orma_journal_api *orma_journal_library_load(const char **ret_missing);
/* The same for another library. */
const struct orma_journal_api *orma_journal_library_load_from(const char *path,
							      const char **ret_missing);

#endif
