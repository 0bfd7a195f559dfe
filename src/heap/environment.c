/* SPDX-License-Identifier: Apache-2.0
 * environment.c - reads the variables for liborma-heap, and removes them from the environment.
 *
 * These functions replace getenv() and unsetenv(), because shells define functions of these names, which do not work before the
 * shell has begun. Nothing is allocated. They run when the profile begins, in the first allocation or in the constructor.
 */
#include "heap/environment.h"

#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "liborma-heap"

/* Returns the place of the variable, or NULL. */
static char **find_variable(const char *name)
{
	size_t length = strlen(name);

	for (char **at = environ; at && *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return at;
	return NULL;
}

char *orma_heap_environment_value(const char *name)
{
	char **at = find_variable(name);

	return at ? *at + strlen(name) + 1 : NULL;
}

static void remove_variable(const char *name)
{
	char **at = find_variable(name);

	for (; at && *at; at++)
		at[0] = at[1];
}

bool orma_heap_environment_is_set(const char *name)
{
	const char *value = orma_heap_environment_value(name);

	return value && strcmp(value, "1") == 0;
}

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

/* True if this entry of LD_PRELOAD is the library. */
static bool names_library(const char *entry, size_t size)
{
	const char *slash = memrchr(entry, '/', size);
	const char *name = slash ? slash + 1 : entry;

	return size - (size_t)(name - entry) >= sizeof(LIBRARY_NAME) - 1 &&
	       memcmp(name, LIBRARY_NAME, sizeof(LIBRARY_NAME) - 1) == 0;
}

/* Returns the length of the entry that begins here. */
static size_t measure_entry(const char *at)
{
	size_t size = 0;

	while (at[size] && !is_separator(at[size]))
		size++;
	return size;
}

const char *orma_heap_environment_library(size_t *ret_size)
{
	const char *at = orma_heap_environment_value("LD_PRELOAD");

	while (at && *at) {
		size_t size = measure_entry(at);

		if (size > 0 && names_library(at, size)) {
			*ret_size = size;
			return at;
		}
		at += size + (at[size] != '\0');
	}
	return NULL;
}

/* Removes the library from LD_PRELOAD in place, because nothing may be allocated here. */
static void remove_from_preload(void)
{
	char *value = orma_heap_environment_value("LD_PRELOAD"), *out = value, *at = value;

	while (at && *at) {
		size_t size = measure_entry(at);

		if (size > 0 && !names_library(at, size)) {
			if (out != value)
				*out++ = ':';
			memmove(out, at, size);
			out += size;
		}
		at += size + (at[size] != '\0');
	}
	if (value)
		*out = '\0';
	if (value && out == value)
		remove_variable("LD_PRELOAD");
}

void orma_heap_environment_forget(void)
{
	remove_from_preload();
	remove_variable("ORMA_HEAP_SOCK");
	remove_variable("ORMA_HEAP_WAIT");
	remove_variable("ORMA_HEAP_FOLLOW");
	remove_variable("ORMA_HEAP_EXEC");
	remove_variable("ORMA_HEAP_RELEASE");
}
