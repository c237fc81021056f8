// SPDX-License-Identifier: MIT
/* Short-lived garbage, long-lived garbage, no garbage, and garbage passed between threads. */
#include <stdio.h>
#include <string.h>

#include "samples.h"

/* One long-lived tree gets new branches, so that old objects point to young ones; eight others die immediately. */
static const char trees[] = "(def (tree depth)\n"
			    "  (if (= depth 0) (pair nil nil) (pair (tree (- depth 1)) (tree (- depth 1)))))\n"
			    "(def (count t)\n"
			    "  (if (get t 0) (+ 1 (count (get t 0)) (count (get t 1))) 1))\n"
			    "(def (main depth)\n"
			    "  (let ((old (tree depth)) (i 0) (sum 0))\n"
			    "    (while (< i 8)\n"
			    "      (set sum (+ sum (count (tree depth))))\n"
			    "      (put old (% i 2) (tree (- depth 1)))\n"
			    "      (set i (+ i 1)))\n"
			    "    (+ sum (count old))))\n";

static int64_t trees_expected(int64_t depth) { return 9 * (((int64_t)2 << depth) - 1); }

/* Counts words in a table: old lists of new strings. */
static const char words[] =
	"(def (entry word next)\n"
	"  (let ((e (array 3))) (put e 0 word) (put e 1 1) (put e 2 next) e))\n"
	"(def (find entry word)\n"
	"  (do (while (and entry (not (same (get entry 0) word))) (set entry (get entry 2))) entry))\n"
	"(def (add table word)\n"
	"  (let ((i (% (hash word) (length table))) (found (find (get table i) word)))\n"
	"    (if found (put found 1 (+ (get found 1) 1)) (put table i (entry word (get table i))))))\n"
	"(def (letters entry)\n"
	"  (let ((sum 0))\n"
	"    (while entry\n"
	"      (set sum (+ sum (* (get entry 1) (length (get entry 0)))))\n"
	"      (set entry (get entry 2)))\n"
	"    sum))\n"
	"(def (main n)\n"
	"  (let ((table (array 64)) (i 0) (sum 0))\n"
	"    (while (< i n)\n"
	"      (add table (cat \"word \" (text (% (* i 7) 1009))))\n"
	"      (set i (+ i 1)))\n"
	"    (set i 0)\n"
	"    (while (< i 64) (set sum (+ sum (letters (get table i)))) (set i (+ i 1)))\n"
	"    sum))\n";

static int64_t words_expected(int64_t n)
{
	char word[32];
	int64_t sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += snprintf(word, sizeof(word), "word %lld", (long long)(i * 7 % 1009));
	return sum;
}

static const char fib[] = "(def (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n"
			  "(def (main n) (fib n))\n";

static int64_t fib_expected(int64_t n)
{
	int64_t a = 0, b = 1;

	while (n-- > 0) {
		int64_t sum = a + b;

		a = b;
		b = sum;
	}
	return a;
}

/* A producer and a consumer thread: each mostly waits for the other. */
static const char pipe_source[] = "(def (produce out n)\n"
				  "  (let ((i 0))\n"
				  "    (while (< i n) (set i (+ i 1)) (send out (pair i (text i))))\n"
				  "    (send out nil)\n"
				  "    i))\n"
				  "(def (main n)\n"
				  "  (let ((in (channel 8)) (maker (spawn produce in n)) (sum 0) (item (receive in)))\n"
				  "    (while item\n"
				  "      (set sum (+ sum (get item 0) (length (get item 1))))\n"
				  "      (set item (receive in)))\n"
				  "    (+ sum (join maker))))\n";

static int64_t pipe_expected(int64_t n)
{
	char digits[32];
	int64_t sum = n;

	for (int64_t i = 1; i <= n; i++)
		sum += i + snprintf(digits, sizeof(digits), "%lld", (long long)i);
	return sum;
}

const struct sample samples[] = {
	{ "trees", "build and count binary trees of depth N", trees, 12, 24, 7, 40 << 10, trees_expected, true },
	{ "words", "count N words in a table", words, 50000, 10000000, 3000, 200 << 10, words_expected, true },
	{ "fib", "compute Fibonacci number N", fib, 24, 40, 12, 64 << 10, fib_expected, false },
	{ "pipe", "pass N items from one thread to another", pipe_source, 5000, 10000000, 800, 32 << 10, pipe_expected,
	  true },
};

const size_t sample_count = sizeof(samples) / sizeof(*samples);

const struct sample *sample_find(const char *name)
{
	for (size_t i = 0; i < sample_count; i++) {
		if (!strcmp(samples[i].name, name))
			return &samples[i];
	}
	return NULL;
}
