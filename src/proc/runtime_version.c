/* SPDX-License-Identifier: MIT */
/* Which version of a runtime a file is: from its name, or from a text in it. And how versions compare. */
#include "proc/runtime.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/path.h"
#include "elf/image.h"

#define PIECE (64u << 10)
#define SCAN_MAX (1ull << 30) /* no runtime's file is larger, and a sparse one must not keep us */
#define VERSION_MAX 32 /* as the header has it */

/* The length of numbers with dots between them at @s: "3.11" of "3.11.so". */
static size_t version_length(const char *s, const char *end)
{
	const char *at = s, *last = s;

	while (at < end && is_digit(*at)) {
		while (at < end && is_digit(*at))
			at++;
		last = at;
		if (at < end && *at == '.')
			at++;
	}
	return (size_t)(last - s);
}

static bool copy_version(const char *s, size_t len, char ret[VERSION_MAX])
{
	if (!len || len >= VERSION_MAX)
		return false;
	memcpy(ret, s, len);
	ret[len] = '\0';
	return true;
}

/* The longest there is: "3.1.2" of "libruby-3.1.so.3.1.2", and the first of two that are equally long. */
static bool version_in_name(const char *path, char ret[VERSION_MAX])
{
	const char *s = path_base(path), *end = s + strlen(s), *best = s;
	size_t best_len = 0;

	while (s < end) {
		size_t len = version_length(s, end);

		if (len > best_len) {
			best = s;
			best_len = len;
		}
		s += len ? len : 1;
	}
	return copy_version(best, best_len, ret);
}

/* A number behind @prefix, in bytes that may go on: @more. */
static bool version_in_bytes(const char *bytes, size_t len, bool more, const char *prefix, char ret[VERSION_MAX])
{
	const char *end = bytes + len, *s = bytes;
	size_t prefix_len = strlen(prefix);

	while (s < end && (s = memmem(s, (size_t)(end - s), prefix, prefix_len))) {
		const char *number = s + prefix_len;

		if (more && (size_t)(end - number) < VERSION_MAX)
			return false; /* the next piece begins before it */
		if (copy_version(number, version_length(number, end), ret))
			return true;
		s++;
	}
	return false;
}

/* Pieces overlap by what a prefix and a version may take. */
static bool version_in_range(int fd, uint64_t offset, uint64_t size, const char *prefix, char ret[VERSION_MAX])
{
	size_t overlap = strlen(prefix) + VERSION_MAX, kept = 0;
	AUTO_FREE char *piece = malloc(PIECE + overlap);

	while (piece && size) {
		size_t want = size < PIECE ? (size_t)size : PIECE;
		ssize_t n = pread(fd, piece + kept, want, (off_t)offset);

		if (n <= 0)
			return version_in_bytes(piece, kept, false, prefix, ret);
		offset += (uint64_t)n;
		size -= (uint64_t)n;
		kept += (size_t)n;
		if (version_in_bytes(piece, kept, size > 0, prefix, ret))
			return true;
		if (kept > overlap) {
			memmove(piece, piece + kept - overlap, overlap);
			kept = overlap;
		}
	}
	return false;
}

/* In constants first; older linkers put them beside the code. */
static bool version_in_text(int fd, const char *prefix, char ret[VERSION_MAX])
{
	const struct elf_segment *segment;
	struct elf_image *img = NULL;
	bool found = false;
	size_t n;

	if (fd < 0 || elf_image_open(fd, &img, NULL))
		return false;
	n = elf_image_segments(img, &segment);
	for (int exec = 0; exec <= 1; exec++)
		for (size_t i = 0; i < n && !found; i++) {
			uint64_t size = segment[i].filesz < SCAN_MAX ? segment[i].filesz : SCAN_MAX;

			found = !segment[i].write && segment[i].exec == exec &&
				version_in_range(fd, segment[i].offset, size, prefix, ret);
		}
	elf_image_free(img);
	return found;
}

bool runtime_version(const struct runtime *r, const char *path, int fd, char ret[32])
{
	for (size_t i = 0; i < r->version.n; i++) {
		const struct runtime_version *v = &r->version.v[i];

		if (v->in_text ? version_in_text(fd, v->prefix, ret) : version_in_name(path, ret))
			return true;
	}
	ret[0] = '\0';
	return false;
}

/* The next number of *@s, 0 when there is none; one too large for the type is the largest. */
static unsigned long long next_number(const char **s)
{
	unsigned long long ret = strtoull(is_digit(**s) ? *s : "0", NULL, 10);

	while (is_digit(**s))
		(*s)++;
	if (**s == '.')
		(*s)++;
	return ret;
}

int runtime_version_compare(const char *a, const char *b)
{
	while (is_digit(*a) || is_digit(*b)) {
		unsigned long long x = next_number(&a), y = next_number(&b);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

bool runtime_span_holds(const struct runtime_span *s, const char *version)
{
	if (!version || !version[0])
		return true;
	return (!s->since || runtime_version_compare(version, s->since) >= 0) &&
	       (!s->before || runtime_version_compare(version, s->before) < 0);
}

const char *runtime_map_hint(const struct runtime *r, const char *version)
{
	const char *ret = NULL;

	for (size_t i = 0; i < r->map.n; i++) {
		const struct runtime_map *m = &r->map.v[i];

		if (!m->since || !version || !*version || runtime_version_compare(version, m->since) >= 0)
			ret = m->text;
	}
	return ret;
}
