# Thin wrappers around CMake's presets; CMakePresets.json and CONTRIBUTING.md say what they do.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

.PHONY: all bench demo test check install fuzz clean

all:
	@cmake --preset release >/dev/null
	@cmake --build --preset release

demo:
	@tools/install-packages build
	@tools/demo

test:
	@tools/install-packages build test
	@cmake --preset test >/dev/null
	@cmake --build --preset test
	@ctest --preset test -j 2

check:
	@tools/install-packages build test check
	@tools/check

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

# Every fuzz target for FUZZ_SECONDS, from its corpus; what is found stays in build/fuzz/found.
fuzz:
	@tools/install-packages
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@tools/fuzz $(FUZZ_SECONDS)

# The daemons side by side; QUICK=1 for a glance. docs/performance.md explains the table.
bench:
	@tools/install-packages build
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench
	@bench/run $(if $(QUICK),--quick)

clean:
	rm -rf build
