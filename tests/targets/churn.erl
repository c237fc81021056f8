%% SPDX-License-Identifier: MIT
%% Collects a lot: in small heaps, in large ones that a dirty scheduler collects, and because it is asked to. Says at the end
%% what Erlang itself tells of it:
%%
%%     clock SYSTEM ERLANG         both monotonic clocks at one moment, in ns; Erlang's goes a little faster or slower
%%     window BEGIN END COUNT      what statistics(garbage_collection) counted between two times of the system
%%     tracer N                    the number of the process that was told; nobody tells of its own
%%     gc N WHAT BEGIN END         a collection of process N, as erlang:trace/3 tells it, by Erlang's clock
%%     done collections=COUNT
-module(churn).
-export([main/1, woken/1]).

main([Rounds]) ->
    io:format("ready ~s~n", [os:getpid()]),
    io:get_line(""),
    Self = self(),
    Tracer = spawn_link(fun() -> tracer(Self) end),
    receive {Tracer, traces} -> ok end,
    First = clocks(),
    {Count, _, _} = statistics(garbage_collection),
    Begin = now_ns(),
    work(list_to_integer(Rounds)),
    End = now_ns(),
    {Then, _, _} = statistics(garbage_collection),
    Last = clocks(),
    Tracer ! stop,
    receive {Tracer, Told} -> ok end,
    [io:format("clock ~b ~b~n", [System, Erlang]) || {System, Erlang} <- [First, Last]],
    io:format("window ~b ~b ~b~ntracer ~b~n", [Begin, End, Then - Count, number(Tracer)]),
    [io:format("gc ~b ~s ~b ~b~n", [number(P), W, B, E]) || {P, W, B, E} <- Told],
    io:format("done collections=~b~n", [Then - Count]),
    io:get_line(""),
    halt(0).

now_ns() ->
    Source = erlang:system_info(os_monotonic_time_source),
    {time, Native} = lists:keyfind(time, 1, Source),
    erlang:convert_time_unit(Native, native, nanosecond).

%% Of ten readings the one that took the least time.
clocks() ->
    {_, Clocks} = lists:min([reading() || _ <- lists:seq(1, 10)]),
    Clocks.

reading() ->
    Before = erlang:monotonic_time(nanosecond),
    System = now_ns(),
    After = erlang:monotonic_time(nanosecond),
    {After - Before, {System, (Before + After) div 2}}.

%% <0.N.0>
number(Pid) ->
    [_, N, _] = string:tokens(pid_to_list(Pid), "<.>"),
    list_to_integer(N).

tracer(Parent) ->
    process_flag(priority, high),
    erlang:trace(all, true, [garbage_collection, monotonic_timestamp]),
    Parent ! {self(), traces},
    receive stop -> ok end,
    erlang:trace(all, false, [garbage_collection]),
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    Parent ! {self(), told(#{}, [])}.

told(Open, Done) ->
    receive
        {trace_ts, Pid, What, _, Time} ->
            At = erlang:convert_time_unit(Time, native, nanosecond),
            case What of
                gc_minor_start -> told(Open#{Pid => At}, Done);
                gc_major_start -> told(Open#{Pid => At}, Done);
                gc_minor_end -> told(Open, [{Pid, minor, maps:get(Pid, Open), At} | Done]);
                gc_major_end -> told(Open, [{Pid, full, maps:get(Pid, Open), At} | Done])
            end
    after 0 -> lists:reverse(Done)
    end.

work(Rounds) ->
    Workers = [spawn_monitor(fun() -> small(Rounds * 20) end), spawn_monitor(fun() -> large(Rounds, []) end),
               spawn_monitor(fun() -> asked_for(Rounds * 5) end), spawn_monitor(fun() -> hibernating(20) end)],
    [receive {'DOWN', Ref, process, Pid, normal} -> ok end || {Pid, Ref} <- Workers].

small(0) -> ok;
small(N) -> 300 = length([{X, X} || X <- lists:seq(1, 300)]), small(N - 1).

large(0, Kept) -> length(Kept);
large(N, Kept) -> large(N - 1, lists:sublist([binary_to_term(term_to_binary(lists:seq(1, 20000))) | Kept], 5)).

asked_for(0) -> ok;
asked_for(N) -> lists:seq(1, 1000), erlang:garbage_collect(), asked_for(N - 1).

%% Its heap is made as small as can be each time: a collection of another kind, which is not counted and not told.
hibernating(0) -> ok;
hibernating(N) ->
    erlang:send_after(1, self(), go),
    erlang:hibernate(?MODULE, woken, [N - 1]).

woken(N) -> receive go -> hibernating(N) end.
