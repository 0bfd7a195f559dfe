/* SPDX-License-Identifier: Apache-2.0
 * fd_closer.h - closes descriptors of other processes on threads that may hang.
 */
#ifndef ORMA_TOOL_FD_CLOSER_H
#define ORMA_TOOL_FD_CLOSER_H

#include "base/fd.h"

/* Of one user, waiting or being closed: beyond that his connections are dropped when they send
 * something. */
#define ORMA_FD_CLOSER_PER_OWNER_MAX 256
#define ORMA_FD_CLOSER_THREADS_MAX   8

/* Used by one thread. */
int orma_fd_closer_new(struct orma_fd_closer **ret);
/* All that was handed over is closed. */
bool orma_fd_closer_is_idle(struct orma_fd_closer *closer);
/* Waits for a second until it is; what hangs longer is left to its thread. */
void orma_fd_closer_free(struct orma_fd_closer *closer);

#endif
