/* SPDX-License-Identifier: Apache-2.0
 * probe_text.h - taking the kernel's text files apart: lines, words and numbers, without copies.
 *
 * The functions take what they return off the front of `rest`. Nothing here needs a terminating
 * NUL.
 */
#ifndef ORMA_PROBES_PROBE_TEXT_H
#define ORMA_PROBES_PROBE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The next line, without its newline; false at the end. The last line needs no newline. */
bool orma_probes_text_line(struct orma_str *rest, struct orma_str *ret);
/* The next run of anything but spaces and tabs; false when there is none. */
bool orma_probes_text_word(struct orma_str *rest, struct orma_str *ret);
/* What is before the first `separator`; it is dropped. False, and nothing taken, without one. */
bool orma_probes_text_until(struct orma_str *rest, char separator, struct orma_str *ret);
/* Without spaces and tabs at both ends. */
struct orma_str orma_probes_text_trim(struct orma_str text);
bool orma_probes_text_has_prefix(struct orma_str text, const char *prefix);
bool orma_probes_text_has_suffix(struct orma_str text, const char *suffix);

/* The whole text as a decimal number; false for anything else, also for what does not fit. */
bool orma_probes_text_u64(struct orma_str text, uint64_t *ret);
bool orma_probes_text_i64(struct orma_str text, int64_t *ret);
bool orma_probes_text_u32(struct orma_str text, uint32_t *ret);
/* Hexadecimal, "0x" in front or not. */
bool orma_probes_text_hex32(struct orma_str text, uint32_t *ret);
/* The next word as a number; false when there is none or it is not one. */
bool orma_probes_text_next_u64(struct orma_str *rest, uint64_t *ret);

#endif
