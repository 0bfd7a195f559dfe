/* SPDX-License-Identifier: Apache-2.0
 * utf8.h - which bytes are text, and which text is safe to show.
 */
#ifndef ORMA_BASE_UTF8_H
#define ORMA_BASE_UTF8_H

#include "base/str.h"

/* Bytes of the well-formed UTF-8 character that `text` begins with; 0 when there is none. */
size_t orma_base_utf8_size(struct orma_str text);
/*
 * The same, and 0 also for characters that act instead of being seen: the controls of ASCII
 * (with tab and line feed) and of Latin-1, which terminals obey, line and paragraph separators, and
 * the marks that change the direction of text, with which "txt.exe" can be shown as "exe.txt".
 */
size_t orma_base_utf8_visible_size(struct orma_str text);

#endif
