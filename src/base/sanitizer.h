/* SPDX-License-Identifier: Apache-2.0
 * sanitizer.h - whether the compiler adds a sanitizer: gcc and clang tell it in different ways.
 */
#ifndef ORMA_BASE_SANITIZER_H
#define ORMA_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define ORMA_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORMA_HAS_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(ORMA_HAS_ADDRESS_SANITIZER) || defined(__SANITIZE_THREAD__)
#define ORMA_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ORMA_HAS_SANITIZER 1
#endif
#endif

#endif
