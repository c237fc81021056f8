// SPDX-License-Identifier: MIT
// GcTrees TREES: trees of small nodes, of which the newest stay alive, so that every collection has something to do, and
// System.gc() after every 400 of them. It waits for a line on standard input before it begins and before it ends.
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
        int trees = Integer.parseInt(args[0]), fulls = 0;

        gate("ready " + ProcessHandle.current().pid());
        for (int i = 1; i <= trees; i++) {
            alive.add(new Node(DEPTH));
            if (alive.size() > ALIVE)
                alive.poll();
            if (i % 400 == 0) {
                System.gc();
                fulls++;
            }
            if (i % 4 == 0)
                Thread.sleep(1);
        }
        gate("done fulls=" + fulls);
    }
}
