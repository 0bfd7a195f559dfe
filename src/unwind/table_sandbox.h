/* SPDX-License-Identifier: Apache-2.0
 * table_sandbox.h - what a process gives up before it reads files of others.
 */
#ifndef ORMA_UNWIND_TABLE_SANDBOX_H
#define ORMA_UNWIND_TABLE_SANDBOX_H

/*
 * For a child that has just been forked, and has one thread. It keeps its private memory and the
 * descriptor `socket`, which gets the number that is returned. Everything else goes: other
 * descriptors, memory that is shared, the user and the rights of its parent, and the system calls
 * that reading a file and building a table do not need. Its memory and its CPU time are limited.
 *
 * Returns the descriptor or -errno; then the child must end. *ret_filter is 0, or -errno when the
 * kernel has no filter of system calls, and everything else holds.
 */
int orma_table_sandbox_enter(int socket, int *ret_filter);

#endif
