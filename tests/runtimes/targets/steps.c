/* SPDX-License-Identifier: MIT */
/*
 * A program with Lua or LuaJIT built in, which has its own clock around each step of the collector: they have no account
 * of their own.
 *
 *     ./steps 200          waits for a line before it begins and before it ends
 *
 * "gc BEGIN-NS LENGTH-NS" is a step. With -DWRAPPED and -Wl,--wrap=luaC_step it is one that Lua takes itself; otherwise
 * it is one that the program asks for, and no other is taken.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include "../../../src/base/clock.h"

enum { MAX = 100000 };

static struct {
	uint64_t begin, length;
} steps[MAX];
static size_t n, cycles;

static const char program[] = "local kept, n = {}, 0\n"
			      "function churn()\n"
			      "	for i = 1, 2000 do\n"
			      "		n = n + 1\n"
			      "		local t = { i, i + 1, { i } }\n"
			      "		if i % 4 == 0 then kept[n % 50000] = t end\n"
			      "	end\n"
			      "end\n";

static void note(uint64_t begin)
{
	if (n == MAX)
		return;
	steps[n].length = monotonic_ns() - begin;
	steps[n++].begin = begin;
}

#ifdef WRAPPED
void __real_luaC_step(lua_State *l);
void __wrap_luaC_step(lua_State *l);

void __wrap_luaC_step(lua_State *l)
{
	uint64_t begin = monotonic_ns();

	__real_luaC_step(l);
	note(begin);
}

static void set_up(lua_State *l) { lua_gc(l, LUA_GCINC, 0, 0, 17); } /* larger steps than one looks at closely */
static void step(lua_State *l) { (void)l; }
#else
static void set_up(lua_State *l)
{
	lua_gc(l, LUA_GCSTOP, 0);
	lua_gc(l, LUA_GCSETSTEPMUL, 20000);
}

static void step(lua_State *l)
{
	uint64_t begin = monotonic_ns();
	int last = lua_gc(l, LUA_GCSTEP, 0);

	note(begin);
	lua_gc(l, LUA_GCSTOP, 0);
	cycles += last == 1;
}
#endif

int main(int argc, char **argv)
{
	size_t wanted = argc > 1 ? (size_t)atol(argv[1]) : 100;
	lua_State *l = luaL_newstate();

	luaL_openlibs(l);
	set_up(l);
	if (luaL_dostring(l, program))
		return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	getchar();
	n = 0;
	while (n < wanted) {
		lua_getglobal(l, "churn");
		lua_call(l, 0, 0);
		step(l);
	}
	for (size_t i = 0; i < n; i++)
		printf("gc %llu %llu\n", (unsigned long long)steps[i].begin, (unsigned long long)steps[i].length);
	printf("done steps=%zu cycles=%zu\n", n, cycles);
	fflush(stdout);
	getchar();
	return 0;
}
