/* SPDX-License-Identifier: Apache-2.0
 * table_sandbox.h - what a process gives up before it reads files of others.
 */
#ifndef ORMA_UNWIND_TABLE_SANDBOX_H
#define ORMA_UNWIND_TABLE_SANDBOX_H

/*
 * For a child that has just been forked, and has one thread. It keeps its private memory and the
 * descriptor `socket`, which gets a new number. It gives up all other descriptors, shared memory, the
 * user and the rights of its parent, and the system calls that reading a file and building a table do
 * not need. Its memory and its CPU time are limited.
 *
 * Returns the new number of the socket, or -errno; then the child must end. *ret_filter is 0, or -errno
 * if the kernel has no filter of system calls. Everything else is given up in that case, too.
 */
int orma_table_sandbox_enter(int socket, int *ret_filter);

#endif
