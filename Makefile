# moonrpc: `make run` serves examples/hello, `make test` passes; see README.md.
# == SETTINGS ================================================================
BUILD = release
SAN   =
V     = 0
PREFIX = /usr/local
CC    = cc
AR    = gcc-ar
CLANG = clang-14
LUA   = lua5.4
JOBS := $(shell nproc 2>/dev/null || echo 2)

# The program is optimised as a whole; the objects can be linked without, too.
OPT_release = -O3 -DNDEBUG -flto=auto -ffat-lto-objects -fvisibility=hidden
OPT_debug   = -O1 -fno-omit-frame-pointer
WARN = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes \
       -Wmissing-prototypes -Wwrite-strings -Wundef -Wvla $(if $(CI),-Werror)
# == END OF SETTINGS =========================================================

comma := ,
variant := $(BUILD)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
B := build/$(variant)
Q := $(if $(filter 1,$(V)),,@)
MAKEFLAGS += --no-print-directory -j$(JOBS)

ifeq ($(filter clean,$(MAKECMDGOALS)),)
deps := $(shell scripts/install-deps --quick >&2 && echo ok)
ifneq ($(deps),ok)
$(error dependencies are missing: run scripts/install-deps)
endif
endif

pc = $(shell pkg-config $(1))
LLHTTP_PC := $(shell pkg-config --exists libllhttp && echo libllhttp)
LLHTTP_DIR := $(if $(LLHTTP_PC),,/usr/share/llhttp)
CPPFLAGS = -Isrc -I$(B)/gen -D_GNU_SOURCE \
  $(patsubst -I%,-isystem %,$(call pc,--cflags lua5.4 libuv)) \
  $(if $(LLHTTP_PC),$(call pc,--cflags libllhttp),-I/usr/share/include/llhttp)
CFLAGS = -std=c11 -g $(OPT_$(BUILD)) $(WARN) -MMD -MP \
  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)
static = $(addprefix -l:,$(addsuffix .a,$(1)))
LUALIBS = -Wl,--whole-archive,-l:liblua5.4.a,--no-whole-archive \
  $(call static,liblua5.4-cjson liblua5.4-luv)
WSLAY_A := $(wildcard $(shell $(CC) -print-file-name=libwslay.a))
LIBS = $(LUALIBS) $(call static,libuv_a libcrypto) \
  $(if $(WSLAY_A),-l:libwslay.a,-lwslay) \
  $(if $(LLHTTP_PC),$(call pc,--libs libllhttp)) -lpthread -ldl -lm
LDFLAGS = -Wl,-E $(if $(SAN),-fsanitize=$(SAN))

SRC := $(filter-out src/cli/%,$(wildcard src/*/*.c))
OBJ := $(SRC:src/%.c=$(B)/%.o) $(B)/gen/embedded.o \
  $(if $(LLHTTP_DIR),$(addprefix $(B)/llhttp/,api.o http.o llhttp.o))
CLI := $(patsubst src/%.c,$(B)/%.o,$(wildcard src/cli/*.c))
GEN := $(B)/gen/powers.h
UNITS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
TOOLS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/tool_*.c))

all: $(B)/moonrpc $(B)/libmoonrpc.a
	$(Q)ln -sfn $(variant)/moonrpc build/moonrpc
	$(Q)ln -sfn $(variant)/libmoonrpc.a build/libmoonrpc.a

$(B)/moonrpc: $(CLI) $(B)/libmoonrpc.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/libmoonrpc.a: $(OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(B)/%.o: src/%.c Makefile | $(GEN)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(B)/llhttp/%.o: $(LLHTTP_DIR)/%.c Makefile
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -w \
	  -DLLHTTP_STRICT_MODE=1 -c -o $@ $<
$(B)/gen/powers.h: scripts/powers
	$(Q)mkdir -p $(@D) && $(LUA) $< > $@.tmp && mv $@.tmp $@
$(B)/gen/embedded.c: scripts/embed $(wildcard lua/*.lua)
	$(Q)mkdir -p $(@D) && $(LUA) scripts/embed $(wildcard lua/*.lua) > $@
$(B)/gen/embedded.o: $(B)/gen/embedded.c
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(B)/unit/%: tests/unit/%.c $(B)/libmoonrpc.a $(wildcard tests/unit/*.h)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -Itests/unit -fno-lto $(LDFLAGS) \
	  -o $@ $< $(B)/libmoonrpc.a $(LIBS)

run: all
	build/moonrpc serve examples/hello --dev
units: $(UNITS) $(TOOLS)
test: all units
	scripts/run-tests $(B)
check:
	scripts/check
fuzz test-clients: all
	scripts/$@ $(B)
bench: all
	scripts/bench/run $(B)
install: all
	$(Q)scripts/install '$(DESTDIR)' '$(PREFIX)' '$(LDFLAGS) $(LIBS)'
clean:
	rm -rf build
.PHONY: all run units test check fuzz bench test-clients install clean
.SECONDARY:
-include $(wildcard $(B)/*/*.d $(B)/unit/*.d)
