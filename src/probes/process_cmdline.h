/* SPDX-License-Identifier: Apache-2.0
 * process_cmdline.h - command lines of processes in packets.
 */
#ifndef ORMA_PROBES_PROCESS_CMDLINE_H
#define ORMA_PROBES_PROCESS_CMDLINE_H

#include <orma/data_source.h>
#include <stdbool.h>

#include "base/str.h"

#define ORMA_PROBES_PROCESS_CMDLINE_BYTES 65536 /* limit per process; callers cut off the rest */

/* Writes the content of /proc/PID/cmdline into the open ProcessTree.Process of a packet. Returns false when it has no
 * arguments, as those of kernel threads and zombies have none. */
bool orma_probes_process_cmdline_write(struct orma_packet *packet, struct orma_str cmdline);

#endif
