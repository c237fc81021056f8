# SPDX-License-Identifier: MIT
# gc_own.rb SECONDS: first collections that are asked for, with a line "gc BEGIN LENGTH" for each: when it was asked for (ns
# of CLOCK_MONOTONIC) and what GC.total_time grew by. Then those that come by themselves, and how many GC.count counted; no
# other collection can come, since they are disabled before the first count and after the second. It
# waits for a line on standard input before it begins and before it ends.
def gate(text)
  puts text
  $stdout.flush
  $stdin.gets
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def garbage(live, n)
  n.times do |i|
    a = ["s#{i}", { k: i }]
    a << a
    live << a if (i % 20).zero?
  end
  live.shift(5000) if live.size > 20_000
end

def asked(count)
  live = []
  GC.disable
  Array.new(count) do |i|
    garbage(live, 2000)
    before = GC.total_time
    start = now
    GC.start(full_mark: i.odd?, immediate_sweep: true)
    [start, GC.total_time - before]
  end
end

def by_themselves(seconds)
  finish = now + seconds * 1e9
  live = []
  GC.enable
  garbage(live, 500) while now < finish
  GC.disable
end

gate("ready #{$$}")
first = GC.count
own = asked(60)
GC::Profiler.enable
before, time = GC.count, GC.total_time
by_themselves(ARGV[0].to_f)
count, time = GC.count - before, GC.total_time - time
profiled = GC::Profiler.raw_data.size
require "shellwords"
load "English.rb"
own.each { |row| puts "gc #{row.join(" ")}" }
gate("done all=#{GC.count - first} count=#{count} profiled=#{profiled} time=#{time}")
exit!(0)
