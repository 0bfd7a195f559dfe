/* SPDX-License-Identifier: Apache-2.0
 * demangle.h - the names of functions as the source has them.
 */
#ifndef ORMA_SYMBOLS_DEMANGLE_H
#define ORMA_SYMBOLS_DEMANGLE_H

#include "base/buf.h"

/*
 * Appends the name that a function of C++ or Rust has in the source. 1; 0 if the name is not mangled or not understood, and nothing
 * is appended; or -ENOMEM. Any thread.
 */
int orma_demangle(const char *name, struct orma_buf *buf);

/* The parts of orma_demangle(), with the same results: names of Rust, and names of C++ in the Itanium ABI. */
int orma_demangle_rust_v0(const char *name, struct orma_buf *buf);
int orma_demangle_cxx(const char *name, struct orma_buf *buf);
int orma_demangle_rust_legacy(const char *name, struct orma_buf *buf);

#endif
