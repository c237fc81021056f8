# SPDX-License-Identifier: MIT
# gc_churn.rb SECONDS [--gate]: cyclic young garbage, a rotating live set, a GC.start every 400 ms and exceptions; then
# how many. With --gate it waits for a line on standard input before it begins and before it ends.
def gate(text)
  puts text
  $stdout.flush
  $stdin.gets if ARGV.include?("--gate")
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def churn(seconds)
  full = now + 0.4
  finish = now + seconds
  live = []
  raised = 0
  while now < finish
    200.times do |i|
      a = ["s#{i}", { k: i }]
      a << a
      live << a if (i % 20).zero?
    end
    live.shift(10) if live.size > 5000
    begin
      raise ArgumentError, "x" # the line that tracers are to tell
    rescue ArgumentError
      raised += 1
    end
    if now > full
      GC.start
      full += 0.4
    end
    sleep 0.001
  end
  raised
end

gate("ready #{$$}")
before = GC.count
raised = churn(ARGV[0].to_f)
count = GC.count - before
gate("done raised=#{raised} gc_count=#{count}")
