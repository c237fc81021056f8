// SPDX-License-Identifier: MIT

import java.nio.charset.StandardCharsets;

/**
 * User events for Java 17, through one JNI function (UserTrace.c), without a library.
 *
 * To build the example at the end of this file and trace it:
 *
 *     $ javac -h . UserTrace.java
 *     $ gcc -O2 -shared -fPIC -I"$JAVA_HOME/include" -I"$JAVA_HOME/include/linux" UserTrace.c -o libUserTrace.so
 *     $ usertrace trace 'e:*' -- java -Djava.library.path=. UserTrace
 */
public final class UserTrace {
	private static final int BEGIN = 1, END = 2, MARK = 3, COUNT = 4, ID = 0x10, TEXT = 0x20;

	static {
		System.loadLibrary("UserTrace");
	}

	private UserTrace() {
	}

	private static native void emit(int what, byte[] name, long value, long id, byte[] text);

	private static byte[] utf8(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	/** Emits an instant event. */
	public static void mark(String name) {
		emit(MARK, utf8(name), 0, 0, null);
	}

	public static void mark(String name, String text) {
		emit(MARK | TEXT, utf8(name), 0, 0, utf8(text));
	}

	/** Sets a counter. */
	public static void count(String name, long value) {
		emit(COUNT, utf8(name), value, 0, null);
	}

	/** Begins a span. Spans of one thread nest. */
	public static Span span(String name) {
		return new Span(0, utf8(name), 0);
	}

	/** A span that overlaps others, or ends on another thread. */
	public static Span span(String name, long id) {
		return new Span(ID, utf8(name), id);
	}

	/** Ends with its try block. */
	public static final class Span implements AutoCloseable {
		private final int flags;
		private final byte[] name;
		private final long id;

		private Span(int flags, byte[] name, long id) {
			this.flags = flags;
			this.name = name;
			this.id = id;
			emit(BEGIN | flags, name, 0, id, null);
		}

		@Override
		public void close() {
			emit(END | flags, name, 0, id, null);
		}
	}

	public static void main(String[] args) {
		try (Span request = span("request")) {
			try (Span parse = span("parse")) {
			}
			mark("cache miss", "/index.html");
			count("température", -4);
			try (Span download = span("download", 7)) {
			}
			mark("готово ✓");
		}
	}
}
