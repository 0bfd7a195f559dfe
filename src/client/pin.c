/* SPDX-License-Identifier: Apache-2.0
 * pin.c - a module that contains the library stays loaded.
 *
 * A thread of ours runs in it, and destructors of threads and handlers of forks point into it: after a
 * dlclose() they would run in unmapped memory. liborma.so is linked so that it stays loaded. A module may
 * instead contain the library's archive or its single source file; so the first orma_init() opens the
 * object that this code is in once more and never closes it.
 *
 * Where dlopen() is not part of the C library (glibc before 2.34 without libdl, static programs)
 * nothing is done, and such a module must not be unloaded. Rejected: joining the thread in a
 * destructor (dlclose() would wait for callbacks, and for the thread that
 * holds the loader's lock).
 */
#include "client/pin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "client/engine.h"

static bool is_program(const Dl_info *info)
{
	uintptr_t headers = getauxval(AT_PHDR), begin = (uintptr_t)info->dli_fbase;

	return headers >= begin && headers - begin < 4096;
}

static void pin(void)
{
	extern __typeof__(dladdr) dladdr __attribute__((weak));
	extern __typeof__(dlopen) dlopen __attribute__((weak));
	Dl_info info;

	if (!dladdr || !dlopen || dladdr((const void *)&orma_client, &info) == 0 ||
	    !info.dli_fname || is_program(&info))
		return;
	/* The handle is never closed. */
	(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void orma_client_pin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, pin);
}
