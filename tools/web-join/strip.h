/* SPDX-License-Identifier: Apache-2.0
 * strip.h - what the page does not need: comments and indentation.
 */
#ifndef ORMA_WEB_JOIN_STRIP_H
#define ORMA_WEB_JOIN_STRIP_H

#include <stdbool.h>

#include "base/buf.h"

/* Append the text without comments and indentation. False when memory is short, or the text has no end. */
bool strip_script(struct orma_str text, struct orma_buf *ret);
bool strip_style(struct orma_str text, struct orma_buf *ret);

#endif
