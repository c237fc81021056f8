-- SPDX-License-Identifier: MIT
-- User events for LuaJIT, through libusertrace and the ffi library. One file to copy: local trace = require "usertrace".
--
-- To run the example at the end of this file and trace it:
--
--     $ usertrace trace 'e:*' -- luajit usertrace.lua
--
-- USERTRACE_LIBRARY=/path/to/libusertrace.so.0 selects a library that is not installed.
local ffi = require "ffi"

ffi.cdef [[
	void ut_begin(const char *name);
	void ut_end(const char *name);
	void ut_mark(const char *name);
	void ut_count(const char *name, int64_t value);
	void ut_begin_id(const char *name, uint64_t id);
	void ut_end_id(const char *name, uint64_t id);
	void ut_mark_text(const char *name, const char *text);
	int ut_enabled(void);
]]
local library = ffi.load(os.getenv("USERTRACE_LIBRARY") or "libusertrace.so.0")

local trace = {}

function trace.enabled() return library.ut_enabled() ~= 0 end

-- Emits an instant event.
function trace.mark(name, text)
	if text then library.ut_mark_text(name, text) else library.ut_mark(name) end
end

-- Sets a counter.
function trace.count(name, value) library.ut_count(name, value) end

local function finish(name, id, ok, ...)
	if id then library.ut_end_id(name, id) else library.ut_end(name) end
	if not ok then error(..., 0) end
	return ...
end

-- A span: trace.span("parse", function() ... end) returns the results of the function.
function trace.span(name, work, ...)
	library.ut_begin(name)
	return finish(name, nil, pcall(work, ...))
end

-- The same with an id, for a span that overlaps others, as those of coroutines do.
function trace.span_id(name, id, work, ...)
	library.ut_begin_id(name, id)
	return finish(name, id, pcall(work, ...))
end

-- The example, unless the file was loaded by require.
if ... ~= "usertrace" then
	trace.span("request", function()
		trace.span("parse", function() end)
		trace.mark("cache miss", "/index.html")
		trace.count("température", -4)
		trace.span_id("download", 7, function() end)
		trace.mark("готово ✓")
	end)
end

return trace
