/* SPDX-License-Identifier: Apache-2.0
 * state_file.h - where files are that orma keeps for its user.
 */
#ifndef ORMA_TOOL_STATE_FILE_H
#define ORMA_TOOL_STATE_FILE_H

/* Makes the folder, and returns the path of a file in it, which the caller frees with orma_base_free(); NULL when there is no
 * folder. */
char *orma_ask_state_path(const char *name);

#endif
