// SPDX-License-Identifier: MIT
// GcChurn SECONDS [--gate] [--calm]: young garbage, a rotating live set and a full collection every 400 ms; then what
// the collectors say they did. With --gate it waits for a line on standard input before it begins and before it ends;
// with --calm it takes its time, so that a person can follow.
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

public class GcChurn {
    static Object sink;

    static int boom(int i) {
        try {
            if ((i & 7) == 0)
                throw new IllegalStateException("x");
            return i;
        } catch (IllegalStateException e) {
            return -i;
        }
    }

    static void gate(boolean gated, String text) throws Exception {
        System.out.println(text);
        System.out.flush();
        if (gated)
            while (System.in.read() > '\n')
                ;
    }

    static long[] counts(List<GarbageCollectorMXBean> collectors) {
        return collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).toArray();
    }

    public static void main(String[] args) throws Exception {
        List<String> options = Arrays.asList(args);
        boolean gated = options.contains("--gate"), calm = options.contains("--calm");
        long period = calm ? 2_500_000_000L : 400_000_000L;
        List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        long[] before = counts(collectors);
        ArrayDeque<byte[]> live = new ArrayDeque<>();
        long n = 0, acc = 0, fulls = 0;

        System.out.println("pools " + ManagementFactory.getMemoryPoolMXBeans().stream().map(p -> p.getName())
            .collect(Collectors.joining(",")));
        gate(gated, "ready " + ProcessHandle.current().pid());
        long now = System.nanoTime(), end = now + (long) (Double.parseDouble(args[0]) * 1e9), nextFull = now + period;
        for (; now < end; now = System.nanoTime()) {
            for (int i = 0; i < 500; i++) {
                byte[] b = new byte[2048];
                sink = b;
                acc += boom(i) + b.length;
                n++;
                if (i % 50 == 0) {
                    live.add(b);
                    if (live.size() > 4000)
                        live.poll();
                }
            }
            if (now > nextFull) {
                System.gc();
                fulls++;
                nextFull += period;
            }
            Thread.sleep(calm ? 20 : 1);
        }
        long[] after = counts(collectors);
        StringBuilder text = new StringBuilder("done allocs=" + n + " fulls=" + fulls);
        for (int i = 0; i < after.length; i++)
            text.append(" " + collectors.get(i).getName().replace(' ', '_') + "=" + (after[i] - before[i]));
        gate(gated, text.toString());
    }
}
