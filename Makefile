# The front door; meson and ninja do the work.
#
#	make             build/fathom, after installing what building needs
#	make demo        what Fathom says about a real training run
#	make check       every test; the last line is the total
#	make fuzz        every importer for FUZZ_SECONDS (600) each
#	make bench       what is claimed of speed and size, measured here
#	make dist        a folder for any Linux with glibc 2.31; MACHINE=aarch64 for Arm
#	make install     into PREFIX (/usr/local), below DESTDIR if set
#	make clean

PREFIX ?= /usr/local
BUILD := build

.PHONY: all setup demo check fuzz bench dist install clean

all: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(abspath $(PREFIX))
	@ninja -C $(BUILD)

setup:
	@tools/setup

demo: all
	@tools/demo $(BUILD)

check:
	@tools/setup check
	@tools/check

fuzz:
	@test/fuzz/run $(or $(FUZZ_SECONDS),600)

bench:
	@bench/run

dist:
	@tools/dist $(MACHINE)

install: all
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@meson install -C $(BUILD)

clean:
	rm -rf build build-check build-clang build-fuzz build-bench build-dist
