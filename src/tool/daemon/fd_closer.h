/* SPDX-License-Identifier: Apache-2.0
 * fd_closer.h - closes descriptors of other processes on threads that may hang.
 */
#ifndef ORMA_TOOL_FD_CLOSER_H
#define ORMA_TOOL_FD_CLOSER_H

#include "base/fd.h"

/* Limit on descriptors of one user that wait or are being closed. Beyond it, connections of the
 * user are dropped when they send something. */
#define ORMA_FD_CLOSER_PER_OWNER_MAX 256
#define ORMA_FD_CLOSER_THREADS_MAX   8

/* Makes a closer, which one thread uses. */
int orma_fd_closer_new(struct orma_fd_closer **ret);
/* Returns true when every descriptor that was handed over is closed. */
bool orma_fd_closer_is_idle(struct orma_fd_closer *closer);
/* Waits up to a second for idleness, then frees the closer. A close() that hangs longer is left to
 * its thread. */
void orma_fd_closer_free(struct orma_fd_closer *closer);

#endif
