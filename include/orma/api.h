/* SPDX-License-Identifier: Apache-2.0
 * orma/api.h - what marks a symbol as part of the stable ABI.
 */
#ifndef ORMA_API_H
#define ORMA_API_H

#define ORMA_API __attribute__((visibility("default")))

#endif
