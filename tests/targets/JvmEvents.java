// SPDX-License-Identifier: MIT
// JvmEvents [--gate]: threads, classes, compilations, monitors and sleeps, and how many of each. With --gate it waits
// for a line on standard input before it begins and before it ends. -XX:+ExtendedDTraceProbes adds the monitors' probes.
import java.io.InputStream;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

public class JvmEvents {
    static final int THREADS = 20, LOADERS = 10, LOCKS = 15, WAITS = 12, SLEEPS = 5;
    static final int[] SLEEP_MS = { 3, 1, 4, 1, 5 };
    static volatile long sink;

    public static class Lock {
    }

    /** Loaded anew by each loader, so that it comes as often as there are loaders. */
    public static class Loaded {
        public static int value = 42;
    }

    static class OwnLoader extends ClassLoader {
        Class<?> load(String name) throws Exception {
            try (InputStream in = JvmEvents.class.getResourceAsStream("/" + name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    static void gate(boolean gated, String text) throws Exception {
        System.out.println(text);
        System.out.flush();
        if (gated)
            while (System.in.read() > '\n')
                ;
    }

    static long hot(int n) {
        long s = 0;
        for (int i = 0; i < n; i++)
            s = s * 31 + i;
        return s;
    }

    static void compile() {
        for (int i = 0; i < 30_000; i++)
            sink += hot(50);
    }

    static void threads() throws Exception {
        for (int i = 0; i < THREADS; i++) {
            Thread t = new Thread(() -> sink += hot(10), "worker-" + i);
            t.setDaemon(i % 2 == 1);
            t.start();
            t.join();
        }
    }

    static void classes() throws Exception {
        for (int i = 0; i < LOADERS; i++)
            sink += new OwnLoader().load("JvmEvents$Loaded").getField("value").getInt(null);
        System.gc();
    }

    /** Each round one thread finds the lock taken, and is seen to stand at it before it is let go. */
    static void contention() throws Exception {
        Lock lock = new Lock();
        for (int i = 0; i < LOCKS; i++) {
            Thread t = new Thread(() -> {
                synchronized (lock) {
                    sink++;
                }
            }, "contender");
            synchronized (lock) {
                t.start();
                while (t.getState() != Thread.State.BLOCKED)
                    Thread.onSpinWait();
            }
            t.join();
        }
    }

    static void waits() throws Exception {
        Lock lock = new Lock();
        synchronized (lock) {
            for (int i = 0; i < WAITS; i++)
                lock.wait(1);
        }
    }

    static void sleeps() throws Exception {
        for (int i = 0; i < SLEEPS; i++)
            Thread.sleep(SLEEP_MS[i]);
    }

    static void everything() throws Exception {
        compile();
        threads();
        classes();
        contention();
        waits();
        sleeps();
    }

    public static void main(String[] args) throws Exception {
        boolean gated = Arrays.asList(args).contains("--gate");
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();

        gate(gated, "ready " + ProcessHandle.current().pid());
        long loaded = classes.getTotalLoadedClassCount(), unloaded = classes.getUnloadedClassCount();
        everything();
        loaded = classes.getTotalLoadedClassCount() - loaded;
        unloaded = classes.getUnloadedClassCount() - unloaded;
        gate(gated, done(loaded, unloaded));
    }

    /** Put together without string templates, which load classes of their own while tracers count. */
    static String done(long loaded, long unloaded) {
        Object[] words = { "done threads=", THREADS, " loaders=", LOADERS, " contended=", LOCKS, " waits=", WAITS,
            " sleeps=", SLEEPS, " loaded=", loaded, " unloaded=", unloaded };
        StringBuilder text = new StringBuilder();
        for (Object word : words)
            text.append(word);
        return text.toString();
    }
}
