# The front door: what a person types. The build itself is meson's; see CONTRIBUTING.md.
#
# `make` and a Debian 12 are enough to begin with: what else is needed is listed in the file packages and installed
# by the targets that need it when they are run by root; otherwise they say what to install.

BUILD ?= build
DESTDIR ?=
PREFIX ?= /usr/local

# What a command says is of interest only when it fails.
quietly = { said=$$($(1) 2>&1) || { echo "$$said"; exit 1; }; }

all: ## build the program in build/ (override with BUILD=)
	@tools/install-packages build
	@test -f $(BUILD)/build.ninja || $(call quietly,meson setup $(BUILD) --prefix $(PREFIX))
	ninja -C $(BUILD)

demo: ## watch the garbage collections of a real runtime, as root
	@tools/install-packages build
	@test -x $(BUILD)/src/cli/usertrace || echo "building $(BUILD)/src/cli/usertrace; half a minute"
	@test -f $(BUILD)/build.ninja || $(call quietly,meson setup $(BUILD) --prefix $(PREFIX))
	@$(call quietly,ninja -C $(BUILD) src/cli/usertrace)
	@tools/demo $(BUILD)

check: ## install what the tests need, build with and without sanitizers, run every test, as root
	@tools/check

check-runtimes: ## collections of runtimes against their own accounts, and docs/agreement.md, as root
	@tools/check-runtimes

check-all: ## both in one go
	@tools/check --with-runtimes

check-vm: all ## the tests that need C programs only, on Debian 12's own kernel (6.1) in an emulator
	@tools/install-packages vm
	@tests/vm/run $(BUILD)

bench: all ## measure costs beside bpftrace, BCC and perf where installed, as root
	@tools/bench $(BUILD)

fuzz: ## a minute of fuzzing for each reader of foreign bytes (FUZZ_SECONDS=60)
	@tools/fuzz

install: all ## install to PREFIX under DESTDIR
	@$(call quietly,meson configure $(BUILD) -Dprefix=$(PREFIX))
	@$(call quietly,ninja -C $(BUILD) build.ninja)
	DESTDIR=$(abspath $(DESTDIR)) meson install -C $(BUILD)

clean: ## remove everything that was built
	rm -rf build build-check build-asan build-tsan build-fuzz build-vm

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

.PHONY: all demo check check-runtimes check-all check-vm bench fuzz install clean help
