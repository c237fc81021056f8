// SPDX-License-Identifier: MIT
// GcTrees SECONDS: trees of small nodes, of which the newest stay alive, so that every collection has something to do,
// and System.gc() every 400 ms. It waits for a line on standard input before it begins and before it ends.
import java.util.ArrayDeque;

public class GcTrees {
    static final int DEPTH = 12, ALIVE = 60;

    static final class Node {
        final Node left, right;

        Node(int depth) {
            left = depth > 0 ? new Node(depth - 1) : null;
            right = depth > 0 ? new Node(depth - 1) : null;
        }
    }

    static void gate(String text) throws Exception {
        System.out.println(text);
        System.out.flush();
        while (System.in.read() > '\n')
            ;
    }

    public static void main(String[] args) throws Exception {
        ArrayDeque<Node> alive = new ArrayDeque<>();
        long trees = 0, fulls = 0, period = 400_000_000L;

        gate("ready " + ProcessHandle.current().pid());
        long now = System.nanoTime(), end = now + (long) (Double.parseDouble(args[0]) * 1e9), next = now + period;
        for (; now < end; now = System.nanoTime()) {
            for (int i = 0; i < 4; i++, trees++) {
                alive.add(new Node(DEPTH));
                if (alive.size() > ALIVE)
                    alive.poll();
            }
            if (now > next) {
                System.gc();
                fulls++;
                next += period;
            }
            Thread.sleep(1);
        }
        gate("done trees=" + trees + " fulls=" + fulls);
    }
}
