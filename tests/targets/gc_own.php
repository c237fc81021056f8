<?php
// SPDX-License-Identifier: MIT
// gc_own.php SECONDS: first collections that are asked for, with a line "gc BEGIN LENGTH OBJECTS" for each (ns of
// CLOCK_MONOTONIC, and what gc_collect_cycles() returned). Then those that come by themselves, and what gc_status() counted.
// It waits for a line on standard input before it begins and before it ends.
function gate(string $text): void
{
    echo $text, "\n";
    flush();
    fgets(STDIN);
}

function cycles(int $n): void
{
    for ($i = 0; $i < $n; $i++) {
        $cycle = new stdClass;
        $cycle->self = $cycle;
    }
}

function asked(int $count): array
{
    $rows = [];
    for ($i = 1; $i <= $count; $i++) {
        cycles(150 * $i);
        $begin = hrtime(true);
        $objects = gc_collect_cycles();
        $rows[] = [$begin, hrtime(true) - $begin, $objects];
    }
    return $rows;
}

function byThemselves(float $seconds): void
{
    $end = microtime(true) + $seconds;
    while (microtime(true) < $end) {
        cycles(1000);
    }
}

function throwing(int $count): int
{
    $caught = 0;
    for ($i = 0; $i < $count; $i++) {
        try {
            throw new RuntimeException("x");
        } catch (RuntimeException $e) {
            $caught++;
        }
    }
    return $caught;
}

gate("ready " . getmypid());
$first = gc_status();
$rows = asked(60);
$before = gc_status();
byThemselves((float)$argv[1]);
$after = gc_status();
$caught = throwing(40);
foreach ($rows as $row) {
    echo "gc ", implode(" ", $row), "\n";
}
gate(sprintf("done runs=%d all=%d collected=%d caught=%d", $after["runs"] - $before["runs"],
    $after["runs"] - $first["runs"], $after["collected"] - $first["collected"], $caught));
