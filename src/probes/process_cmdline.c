/* SPDX-License-Identifier: Apache-2.0
 * process_cmdline.c - command lines of processes in packets.
 */
#include "probes/process_cmdline.h"

#include "probes/probe_text.h"
#include "schema/gen/process_tree.pb.h"

/* Each argument ends with a NUL, except perhaps the last one. A program that overwrites its
 * arguments may leave many NULs at the end. */
bool orma_probes_process_cmdline_write(struct orma_packet *packet, struct orma_str cmdline)
{
	while (cmdline.size > 0 && cmdline.data[cmdline.size - 1] == '\0')
		cmdline.size--;
	if (cmdline.size == 0)
		return false;
	struct orma_str argument;
	while (orma_probes_text_until(&cmdline, '\0', &argument))
		orma_packet_bytes(packet, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, argument.data,
				  argument.size);
	orma_packet_bytes(packet, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, cmdline.data, cmdline.size);
	return true;
}
