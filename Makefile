# Thin wrappers around CMake's presets; CMakePresets.json and CONTRIBUTING.md say what they do.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# CMake's make starts without our MAKEFLAGS, so that it neither warns about the jobserver nor prints the folders that it
# enters.
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
	@ctest --preset test -j 6

check:
	@tools/install-packages build test check
	@tools/check

# Makes the library as two files: build/amalgamation/orma.h and orma.c.
amalgamation:
	@cmake --preset release >/dev/null
	@$(build) --preset release --target amalgamation

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

# Builds Debian's packages in build/package.
package:
	@tools/install-packages build package
	@tools/package

# Runs every fuzz target for FUZZ_SECONDS, beginning with its corpus. Inputs that break a target are kept in
# build/fuzz/found.
fuzz:
	@tools/install-packages build test fuzz
	@cmake --preset fuzz >/dev/null
	@$(build) --preset fuzz --target fuzz_targets
	@tools/fuzz $(FUZZ_SECONDS)

# Compares orma with Perfetto's daemon; QUICK=1 for a short run. docs/performance.md explains the table.
bench:
	@tools/install-packages build bench
	@cmake --preset bench >/dev/null
	@$(build) --preset bench
	@bench/run $(if $(QUICK),--quick)

clean:
	rm -rf build
