<?php
// SPDX-License-Identifier: MIT
// churn.php SECONDS [--gate]: calls, exceptions and cycle collections, and how many. With --gate it waits for a line on
// standard input before it begins and before it ends. Calls are told to tracers only with USE_ZEND_DTRACE=1.
class Worker
{
    public static int $calls = 0;

    public function work(int $i): int
    {
        self::$calls++;
        if ($i % 5 == 0) {
            throw new RuntimeException("x");
        }
        return $i;
    }
}

function gate(string $text): void
{
    global $argv;
    echo $text, "\n";
    flush();
    if (in_array("--gate", $argv)) {
        fgets(STDIN);
    }
}

gate("ready " . getmypid());
$end = microtime(true) + (float)$argv[1];
$caught = 0;
$runs = gc_status()['runs'];
$worker = new Worker;
while (microtime(true) < $end) {
    for ($i = 0; $i < 200; $i++) {
        $cycle = new stdClass;
        $cycle->self = $cycle;
        try {
            $worker->work($i);
        } catch (RuntimeException $e) {
            $caught++;
        }
    }
    usleep(1000);
}
$runs = gc_status()['runs'] - $runs;
gate(sprintf("done calls=%d caught=%d gc_runs=%d", Worker::$calls, $caught, $runs));
