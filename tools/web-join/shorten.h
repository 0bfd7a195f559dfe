/* SPDX-License-Identifier: Apache-2.0
 * shorten.h - gives the names in a joined script short ones.
 */
#ifndef ORMA_TOOLS_WEB_JOIN_SHORTEN_H
#define ORMA_TOOLS_WEB_JOIN_SHORTEN_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the script with shorter names to `ret`. Returns false when that is not possible, which a message has said. */
bool shorten_names(struct orma_str script, struct orma_buf *ret);

#endif
