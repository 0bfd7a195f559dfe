/* SPDX-License-Identifier: Apache-2.0
 * utf8.h - well-formed UTF-8, and characters that are safe to display.
 */
#ifndef ORMA_BASE_UTF8_H
#define ORMA_BASE_UTF8_H

#include "base/str.h"

/* The size of the well-formed UTF-8 character that `text` begins with, or 0. */
size_t orma_base_utf8_size(struct orma_str text);
/*
 * The same, but also 0 for characters that are not visible: the controls of ASCII (including tab
 * and line feed) and of Latin-1, which terminals obey; line and paragraph separators; and the marks
 * that change the direction of text, with which "txt.exe" can be displayed as "exe.txt".
 */
size_t orma_base_utf8_visible_size(struct orma_str text);

#endif
