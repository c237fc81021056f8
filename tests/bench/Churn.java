// SPDX-License-Identifier: MIT
// A JVM that does as much as it can in so many milliseconds as each line of its standard input says, and answers with the
// number of operations, its processor time in ns and its collections: heavy, all garbage, or calm, with few collections.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;

public class Churn {
	static final int LIVE = 4000;
	static final ArrayDeque<byte[]> live = new ArrayDeque<>();
	static long sum;

	static void heavy() {
		for (int i = 0; i < 500; i++) {
			byte[] garbage = new byte[2048];
			garbage[i] = (byte) sum;
			sum += garbage[i >> 1];
			if (i % 50 == 0)
				live.add(garbage);
		}
		while (live.size() > LIVE)
			live.poll();
	}

	static void calm() {
		long x = sum | 1;
		for (int i = 0; i < 200_000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		byte[] garbage = new byte[8192];
		garbage[(int) (x & 1023)] = 1;
		sum += x + garbage[17];
	}

	static long collections() {
		return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
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
