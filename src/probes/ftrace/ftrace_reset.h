/* SPDX-License-Identifier: Apache-2.0
 * ftrace_reset.h - puts the kernel's tracing into a known state.
 */
#ifndef ORMA_PROBES_FTRACE_RESET_H
#define ORMA_PROBES_FTRACE_RESET_H

#include <orma/error.h>

/* Restores what orma has left changed; then switches tracing, events and tracer off, removes orma's and perfetto's probes,
 * and makes the buffer small and empty. `tracefs_path` NULL = where the kernel has it. 0 or -errno. */
int orma_ftrace_reset(const char *tracefs_path, struct orma_error *reterr);

#endif
