# Thin wrappers around CMake's presets; CMakePresets.json and CONTRIBUTING.md say what they do.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# Started as a make of its own, what CMake runs neither argues about jobs nor prints each folder that it enters.
build = env -u MAKEFLAGS -u MAKELEVEL cmake --build

.PHONY: all amalgamation bench demo test check install package fuzz clean

all:
	@cmake --preset release >/dev/null
	@$(build) --preset release

demo:
	@tools/install-packages build
	@env -u MAKEFLAGS -u MAKELEVEL tools/demo

test:
	@tools/install-packages build test
	@cmake --preset test >/dev/null
	@$(build) --preset test
	@ctest --preset test -j 4

check:
	@tools/install-packages build test check
	@tools/check

# The library as two files: build/amalgamation/orma.h and orma.c.
amalgamation:
	@cmake --preset release >/dev/null
	@$(build) --preset release --target amalgamation

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

# Debian's packages, in build/package.
package:
	@tools/install-packages build package
	@tools/package

# Every fuzz target for FUZZ_SECONDS, from its corpus; what is found stays in build/fuzz/found.
fuzz:
	@tools/install-packages build test fuzz
	@cmake --preset fuzz >/dev/null
	@$(build) --preset fuzz --target fuzz_targets
	@tools/fuzz $(FUZZ_SECONDS)

# The daemons side by side; QUICK=1 for a glance. docs/performance.md explains the table.
bench:
	@tools/install-packages build bench
	@cmake --preset bench >/dev/null
	@$(build) --preset bench
	@bench/run $(if $(QUICK),--quick)

clean:
	rm -rf build
