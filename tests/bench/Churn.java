// SPDX-License-Identifier: MIT
// A JVM that does as much as it can in so many milliseconds as each line of its standard input says, and answers with the
// number of operations, its processor time in ns and its collections: heavy, small objects that die young or old, or
// calm, with a few collections a second.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;

public class Churn {
	static final class Node {
		final Node left, right;

		Node(int depth) {
			left = depth > 0 ? new Node(depth - 1) : null;
			right = depth > 0 ? new Node(depth - 1) : null;
		}
	}

	static final int DEPTH = 10, LIVE = 150;
	static final ArrayDeque<Node> live = new ArrayDeque<>();
	static long sum;

	static void heavy() {
		live.add(new Node(DEPTH));
		if (live.size() > LIVE)
			live.poll();
	}

	static void calm() {
		long x = sum | 1;
		for (int i = 0; i < 200_000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		byte[] garbage = new byte[65536];
		garbage[(int) (x & 1023)] = 1;
		sum += x + garbage[17];
	}

	static long collections() {
		long sum = 0;
		for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
			sum += bean.getCollectionCount();
		return sum;
	}

	public static void main(String[] arguments) throws Exception {
		var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		var input = new BufferedReader(new InputStreamReader(System.in));
		boolean calm = arguments[0].equals("calm");
		System.out.println("ready");
		for (String line = input.readLine(); line != null; line = input.readLine()) {
			long operations = 0, collections = collections(), cpu = system.getProcessCpuTime();
			long end = System.nanoTime() + Long.parseLong(line) * 1_000_000;
			for (; System.nanoTime() < end; operations++) {
				if (calm)
					calm();
				else
					heavy();
			}
			System.out.println(operations + " " + (system.getProcessCpuTime() - cpu) + " " + (collections() - collections));
		}
	}
}
