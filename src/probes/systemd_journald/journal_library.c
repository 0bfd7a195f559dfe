/* SPDX-License-Identifier: Apache-2.0
 * journal_library.c - loads libsystemd.
 *
 * Owns a table with the addresses of the functions, which is filled once per process. The library
 * is never unloaded, because it may have handlers and thread-local data of its own. The headers of
 * libsystemd are not needed to build: journal_library.h declares the functions. A statically linked
 * program has no dlopen(), which is a weak reference for that reason; there the library counts as
 * missing. Rejected: linking libsystemd, which machines without systemd do not have; running
 * `journalctl --follow`, whose output would have to be parsed.
 */
#include "probes/systemd_journald/journal_library.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/macros.h"

static struct orma_journal_api api;

static const struct {
	const char *name, *older_name;
	size_t offset; /* in the table */
} functions[] = {
#define FUNCTION(member)                                                                           \
	{                                                                                          \
		"sd_journal_" #member, NULL, offsetof(struct orma_journal_api, member)             \
	}
	FUNCTION(open),
	FUNCTION(close),
	FUNCTION(add_match),
	FUNCTION(has_runtime_files),
	FUNCTION(has_persistent_files),
	FUNCTION(get_fd),
	FUNCTION(process),
	FUNCTION(seek_head),
	FUNCTION(seek_tail),
	FUNCTION(next),
	FUNCTION(previous),
	FUNCTION(get_monotonic_usec),
	FUNCTION(restart_data),
#undef FUNCTION
	/* Before systemd 246 the enumeration ended at the first field that it could not
	 * decompress. */
	{"sd_journal_enumerate_available_data", "sd_journal_enumerate_data",
	 offsetof(struct orma_journal_api, enumerate_data)},
};

/* Returns the name of a function that the library lacks, or NULL. */
static const char *find_functions(void *library)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(functions); i++) {
		void *address = dlsym(library, functions[i].name);
		if (!address && functions[i].older_name)
			address = dlsym(library, functions[i].older_name);
		if (!address)
			return functions[i].name;
		*(void **)(void *)((char *)&api + functions[i].offset) = address;
	}
	return NULL;
}

const struct orma_journal_api *orma_journal_library_load_from(const char *path,
							      const char **ret_missing)
{
	extern __typeof__(dlopen) dlopen __attribute__((weak));
	void *library = dlopen ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		*ret_missing = dlopen ? dlerror() : "a statically linked program loads no library";
		return NULL;
	}
	*ret_missing = find_functions(library);
	return *ret_missing ? NULL : &api;
}

const struct orma_journal_api *orma_journal_library_load(const char **ret_missing)
{
	return orma_journal_library_load_from("libsystemd.so.0", ret_missing);
}
