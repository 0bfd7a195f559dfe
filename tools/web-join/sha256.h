/* SPDX-License-Identifier: Apache-2.0
 * sha256.h - the hash by which a policy of content names a script (FIPS 180-4).
 */
#ifndef ORMA_TOOLS_WEB_JOIN_SHA256_H
#define ORMA_TOOLS_WEB_JOIN_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t size, uint8_t ret[SHA256_BYTES]);

#endif
