/* SPDX-License-Identifier: Apache-2.0
 * exec.c - continues the profile in a program that replaces the profiled one by exec.
 *
 * Many programs only start another one in their place: env of "#!/usr/bin/env python3", scripts that end with exec, wrappers of
 * libtool. The user wants a profile of the other program. The constructor has removed the library from the environment, so that
 * children run without it. These functions put it back, but only in the process that was started to be profiled. A child between
 * fork() and exec has another pid, and its environment is not changed.
 *
 * The environment of the new program is made in a mapping, because signal handlers may call exec, and cannot allocate.
 * posix_spawn() is not replaced, because it makes children.
 *
 * Rejected: leaving the library in the environment and doing nothing in children. They would see it, wait for its constructor, and
 * print an error if it cannot be loaded.
 */
#include "heap/exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <orma-heap/heap_profile.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"
#include "heap/environment.h"

#define PRELOAD   "LD_PRELOAD="
#define OWN_MARK  "ORMA_HEAP_"
#define OWN_COUNT 5u

typedef int exec_fn(const char *file, char *const arguments[], char *const environment[]);
typedef int fexec_fn(int fd, char *const arguments[], char *const environment[]);
typedef int exec_at_fn(int folder_fd, const char *path, char *const arguments[],
		       char *const environment[], int flags);

/* Constant after the constructor. `process` is the profiled one; 0 = a program that replaces it is not profiled. */
static pid_t process;
static char library[PATH_MAX];
static char variables[OWN_COUNT - 1][sizeof(struct sockaddr_un) + 32];
static exec_fn *next_execve, *next_execvpe;
static fexec_fn *next_fexecve;
static exec_at_fn *next_execveat; /* NULL: neither musl nor a glibc before 2.34 has it */

/* `ret_next` points to a pointer to a function. */
static void find_next(const char *name, void *ret_next)
{
	void *address = dlsym(RTLD_NEXT, name);

	memcpy(ret_next, &address, sizeof(address));
}

static bool keep(unsigned place, const char *name, const char *value)
{
	size_t room = sizeof(variables[place]);
	int size = snprintf(variables[place], room, "%s=%s", name, value);

	return size > 0 && (size_t)size < room;
}

static bool keep_all(void)
{
	const char *socket = orma_heap_environment_value("ORMA_HEAP_SOCK");
	size_t size = 0;
	const char *path = orma_heap_environment_library(&size);
	char number[24];

	if (!path || size >= sizeof(library))
		return false;
	memcpy(library, path, size);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	return (!socket || keep(0, "ORMA_HEAP_SOCK", socket)) && keep(1, "ORMA_HEAP_WAIT", "1") &&
	       keep(2, "ORMA_HEAP_EXEC", number) &&
	       (!orma_heap_environment_is_set("ORMA_HEAP_RELEASE") ||
		keep(3, "ORMA_HEAP_RELEASE", "1"));
}

bool orma_heap_exec_init(void)
{
	const char *value = orma_heap_environment_value("ORMA_HEAP_EXEC");
	long number = value ? strtol(value, NULL, 10) : 0;

	find_next("execve", &next_execve);
	find_next("execvpe", &next_execvpe);
	find_next("fexecve", &next_fexecve);
	find_next("execveat", &next_execveat);
	if (value && number != 0 && number != getpid())
		return false;
	if (value && keep_all())
		process = getpid();
	return true;
}

/* --- the environment of the new program ------------------------------------------------------- */

static bool is_own(const char *variable)
{
	return strncmp(variable, OWN_MARK, sizeof(OWN_MARK) - 1) == 0;
}

static bool is_preload(const char *variable)
{
	return strncmp(variable, PRELOAD, sizeof(PRELOAD) - 1) == 0;
}

/* A mapping with the pointers of the environment, and the new texts after them. */
struct area {
	char **pointers;
	size_t size;
};

static bool make_area(size_t pointer_count, size_t text_bytes, struct area *ret)
{
	size_t size = pointer_count * sizeof(char *) + text_bytes;
	void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return false;
	*ret = (struct area){start, size};
	return true;
}

/* The program's own LD_PRELOAD is kept, after our library. */
static bool make_environment(char *const from[], struct area *ret)
{
	const char *preload = "";
	size_t count = 0, used = 0;

	for (; from && from[count]; count++)
		if (is_preload(from[count]))
			preload = from[count] + sizeof(PRELOAD) - 1;
	size_t text_bytes = sizeof(PRELOAD) + strlen(library) + 1 + strlen(preload);
	if (!make_area(count + OWN_COUNT + 1, text_bytes, ret))
		return false;
	char *text = (char *)(ret->pointers + count + OWN_COUNT + 1);
	(void)stpcpy(stpcpy(stpcpy(stpcpy(text, PRELOAD), library), *preload ? ":" : ""), preload);
	ret->pointers[used++] = text;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(variables); i++)
		if (variables[i][0])
			ret->pointers[used++] = variables[i];
	for (size_t i = 0; i < count; i++)
		if (!is_preload(from[i]) && !is_own(from[i]))
			ret->pointers[used++] = from[i];
	return true;
}

static void free_area(const struct area *area)
{
	int saved_errno = errno;

	(void)munmap(area->pointers, area->size);
	errno = saved_errno;
}

/* The program, and the function that executes it: one of the two, or else execveat(). */
struct program {
	exec_fn *by_name;
	fexec_fn *by_descriptor;
	const char *name;
	int fd, flags;
};

static int call_next(const struct program *program, char *const arguments[],
		     char *const environment[])
{
	if (program->by_name)
		return program->by_name(program->name, arguments, environment);
	if (program->by_descriptor)
		return program->by_descriptor(program->fd, arguments, environment);
	if (next_execveat)
		return next_execveat(program->fd, program->name, arguments, environment,
				     program->flags);
	return (int)syscall(SYS_execveat, program->fd, program->name, arguments, environment,
			    program->flags);
}

/* Only returns if the program cannot be executed, as the C library's functions do. */
static int execute(const struct program *program, char *const arguments[],
		   char *const environment[])
{
	struct area area;

	if (process == 0 || process != getpid() || !make_environment(environment, &area))
		return call_next(program, arguments, environment);
	int r = call_next(program, arguments, area.pointers);
	free_area(&area);
	/* Tried again without the variables, because they may have exceeded the limit. */
	return r < 0 && errno == E2BIG ? call_next(program, arguments, environment) : r;
}

static int execute_name(exec_fn *next, const char *name, char *const arguments[],
			char *const environment[])
{
	if (next)
		return execute(&(struct program){.by_name = next, .name = name}, arguments,
			       environment);
	errno = ENOSYS;
	return -1;
}

/* --- the functions ---------------------------------------------------------------------------- */

ORMA_HEAP_API int execve(const char *path, char *const arguments[], char *const environment[])
{
	return execute_name(next_execve, path, arguments, environment);
}

ORMA_HEAP_API int execv(const char *path, char *const arguments[])
{
	return execute_name(next_execve, path, arguments, environ);
}

ORMA_HEAP_API int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return execute_name(next_execvpe, file, arguments, environment);
}

ORMA_HEAP_API int execvp(const char *file, char *const arguments[])
{
	return execute_name(next_execvpe, file, arguments, environ);
}

ORMA_HEAP_API int fexecve(int fd, char *const arguments[], char *const environment[])
{
	if (next_fexecve)
		return execute(&(struct program){.by_descriptor = next_fexecve, .fd = fd},
			       arguments, environment);
	errno = ENOSYS;
	return -1;
}

/* Not every C library declares it. */
int execveat(int folder_fd, const char *path, char *const arguments[], char *const environment[],
	     int flags);

ORMA_HEAP_API int execveat(int folder_fd, const char *path, char *const arguments[],
			   char *const environment[], int flags)
{
	return execute(&(struct program){.name = path, .fd = folder_fd, .flags = flags}, arguments,
		       environment);
}

static size_t count_arguments(va_list list)
{
	size_t count = 1;

	while (va_arg(list, char *))
		count++;
	return count;
}

/* The first argument stands before the list. */
static int execute_list(exec_fn *next, const char *file, const char *first, va_list list,
			bool has_environment)
{
	struct area area;
	va_list again;

	va_copy(again, list);
	size_t count = first ? count_arguments(list) : 0;
	bool is_made = make_area(count + 1, 0, &area);
	int r = -1;

	if (is_made) {
		for (size_t i = 0; i < count; i++)
			area.pointers[i] =
				i == 0 ? (char *)(uintptr_t)first : va_arg(again, char *);
		/* The end of the list. */
		if (first)
			(void)va_arg(again, char *);
		r = execute_name(next, file, area.pointers,
				 has_environment ? va_arg(again, char **) : environ);
		free_area(&area);
	} else {
		errno = ENOMEM;
	}
	va_end(again);
	return r;
}

#define EXECUTE_LIST(next, has_environment)                                                        \
	va_list list;                                                                              \
	va_start(list, argument);                                                                  \
	int r = execute_list(next, file, argument, list, has_environment);                         \
	va_end(list);                                                                              \
	return r

ORMA_HEAP_API int execl(const char *file, const char *argument, ...)
{
	EXECUTE_LIST(next_execve, false);
}

ORMA_HEAP_API int execlp(const char *file, const char *argument, ...)
{
	EXECUTE_LIST(next_execvpe, false);
}

ORMA_HEAP_API int execle(const char *file, const char *argument, ...)
{
	EXECUTE_LIST(next_execve, true);
}
