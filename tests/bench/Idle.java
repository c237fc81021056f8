// SPDX-License-Identifier: MIT
// A JVM that does nothing until its standard input ends: its probes are attached and let go.
public class Idle {
	public static void main(String[] arguments) throws java.io.IOException {
		System.out.println("ready");
		System.in.read();
	}
}
