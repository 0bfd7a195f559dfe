/* SPDX-License-Identifier: Apache-2.0
 * fork.h - watching for forks of this process.
 */
#ifndef ORMA_CLIENT_FORK_H
#define ORMA_CLIENT_FORK_H

/* Installs the handlers, once per process. 0 or -errno. */
int orma_client_forks_init(void);

#endif
