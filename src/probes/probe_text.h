/* SPDX-License-Identifier: Apache-2.0
 * probe_text.h - splits the kernel's text files into lines, words and numbers, without copies.
 *
 * The functions remove what they return from the front of `rest`. No text needs a terminating NUL.
 */
#ifndef ORMA_PROBES_PROBE_TEXT_H
#define ORMA_PROBES_PROBE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Returns the next line, without its newline; false at the end. The last line needs no newline. */
bool orma_probes_text_line(struct orma_str *rest, struct orma_str *ret);
/* Returns the next run of characters other than spaces and tabs; false when there is none. */
bool orma_probes_text_word(struct orma_str *rest, struct orma_str *ret);
/* Returns the text before the first `separator`, which is dropped. Returns false and takes nothing
 * when there is none. */
bool orma_probes_text_until(struct orma_str *rest, char separator, struct orma_str *ret);
/* Returns the text without spaces and tabs at both ends. */
struct orma_str orma_probes_text_trim(struct orma_str text);
bool orma_probes_text_has_prefix(struct orma_str text, const char *prefix);
bool orma_probes_text_has_suffix(struct orma_str text, const char *suffix);

/* Reads the whole text as a decimal number. Returns false for anything else, also for a number that
 * does not fit. */
bool orma_probes_text_u64(struct orma_str text, uint64_t *ret);
bool orma_probes_text_i64(struct orma_str text, int64_t *ret);
bool orma_probes_text_u32(struct orma_str text, uint32_t *ret);
/* Reads a hexadecimal number, with or without "0x". */
bool orma_probes_text_hex64(struct orma_str text, uint64_t *ret);
bool orma_probes_text_hex32(struct orma_str text, uint32_t *ret);
/* Reads the next word as a number. Returns false when there is none, or it is not a number. */
bool orma_probes_text_next_u64(struct orma_str *rest, uint64_t *ret);
/* Skips the beginning of /proc/PID/stat, "PID (NAME)", in which the name may contain blanks and parentheses. The state of the process
 * is the next word. Returns false for any other text. */
bool orma_probes_text_skip_name(struct orma_str *stat);
/* Reads the resident memory from the text of /proc/PID/statm, which counts pages: "size resident shared ...".
 * Returns false for any other text, and for memory that no machine has. */
bool orma_probes_text_resident(struct orma_str statm, uint64_t page_bytes, uint64_t *ret_bytes);

#endif
