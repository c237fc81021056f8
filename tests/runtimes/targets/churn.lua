-- SPDX-License-Identifier: MIT
-- Lua and LuaJIT: makes garbage until it has been collected so often. They do not count themselves, but an object that
-- has a finalizer and that nobody holds dies once in a cycle.
--
--     lua5.4 churn.lua 20          waits for a line before it begins and before it ends
local wanted = tonumber(arg[1])
local cycles = 0
local kept = {}

function dies_in_each_cycle()
	local function again()
		cycles = cycles + 1
		dies_in_each_cycle()
	end
	if newproxy then	-- tables have finalizers from 5.2 on
		getmetatable(newproxy(true)).__gc = again
	else
		setmetatable({}, { __gc = again })
	end
end

local stat = io.open("/proc/self/stat")
print("ready " .. stat:read("*n"))
stat:close()
io.stdout:flush()
io.read()
dies_in_each_cycle()
while cycles < wanted do
	for i = 1, 1000 do
		local t = { i, i + 1, { i } }
		if i % 4 == 0 then kept[#kept % 20000 + 1] = t end
	end
end
print("done cycles=" .. cycles)
io.stdout:flush()
io.read()
