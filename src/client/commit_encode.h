/* SPDX-License-Identifier: Apache-2.0
 * commit_encode.h - a commit as the message that a daemon takes.
 */
#ifndef ORMA_CLIENT_COMMIT_ENCODE_H
#define ORMA_CLIENT_COMMIT_ENCODE_H

#include <orma/service.h>

#include "base/buf.h"

/* Replaces the content of `buf` by a serialized CommitDataRequest. 0 or -ENOMEM. */
int orma_client_commit_encode(const struct orma_commit *commit, struct orma_buf *buf);

#endif
