/* SPDX-License-Identifier: Apache-2.0
 * orma/api.h - what marks a symbol as part of the stable ABI.
 */
#ifndef ORMA_API_H
#define ORMA_API_H

/*
 * With ORMA_STATIC, for a library of one's own that contains orma and shall not show it: a plugin that
 * two versions of orma may meet in. Such a copy has a connection of its own.
 */
#ifdef ORMA_STATIC
#define ORMA_API __attribute__((visibility("hidden")))
#else
#define ORMA_API __attribute__((visibility("default")))
#endif

#endif
