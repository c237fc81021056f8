/* SPDX-License-Identifier: MIT */
/* The text of /proc/PID/maps to mappings. Pure. */
#include "proc/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/ascii.h"
#include "base/auto.h"

static const char deleted_mark[] = " (deleted)";

struct cursor {
	const char *p, *end;
};

/* A number in @base, and the one character behind it. */
static bool parse_maps_number(struct cursor *c, int base, char after, uint64_t *ret)
{
	const char *start = c->p;
	uint64_t v = 0;

	for (; c->p < c->end && hex_value(*c->p) >= 0 && hex_value(*c->p) < base; c->p++)
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)hex_value(*c->p), &v))
			return false;
	if (c->p == start || c->p == c->end || *c->p != after)
		return false;
	c->p++;
	*ret = v;
	return true;
}

static bool parse_permissions(struct cursor *c, struct mapping *m)
{
	if (c->end - c->p < 5 || c->p[4] != ' ')
		return false;
	m->write = c->p[1] == 'w';
	m->exec = c->p[2] == 'x';
	c->p += 5;
	return true;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE" and the path, if any. */
static bool parse_maps_line(const char *start, const char *end, struct maps_line *ret)
{
	struct cursor c = { start, end };
	struct mapping *m = &ret->m;
	uint64_t major_nr, minor_nr;

	*ret = (struct maps_line){ 0 };
	if (!parse_maps_number(&c, 16, '-', &m->start) || !parse_maps_number(&c, 16, ' ', &m->end) ||
	    !parse_permissions(&c, m) || !parse_maps_number(&c, 16, ' ', &m->offset) ||
	    !parse_maps_number(&c, 16, ':', &major_nr) || !parse_maps_number(&c, 16, ' ', &minor_nr) ||
	    !parse_maps_number(&c, 10, ' ', &m->file.ino))
		return false;
	if (m->end <= m->start || major_nr > UINT32_MAX || minor_nr > UINT32_MAX)
		return false;
	m->file.dev = makedev((unsigned)major_nr, (unsigned)minor_nr);
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	ret->path = c.p;
	ret->path_len = (size_t)(c.end - c.p);
	return true;
}

static void strip_deleted(struct maps_line *line)
{
	const size_t mark = sizeof(deleted_mark) - 1;

	if (line->path_len <= mark || memcmp(line->path + line->path_len - mark, deleted_mark, mark) != 0)
		return;
	line->path_len -= mark;
	line->m.deleted = true;
}

int maps_next(const char **text, const char *end, struct maps_line *ret)
{
	const char *start = *text, *eol;

	if (start >= end)
		return 0;
	eol = memchr(start, '\n', (size_t)(end - start));
	if (!eol)
		return -EBADMSG; /* the kernel ends every line */
	if (memchr(start, '\0', (size_t)(eol - start)) || !parse_maps_line(start, eol, ret))
		return -EBADMSG;
	strip_deleted(ret);
	*text = eol + 1;
	return 1;
}

static bool path_begins(const struct maps_line *line, const char *prefix)
{
	size_t len = strlen(prefix);

	return line->path_len >= len && memcmp(line->path, prefix, len) == 0;
}

bool maps_line_is_memory(const struct maps_line *line)
{
	if (line->m.file.ino == 0 || !path_begins(line, "/"))
		return true;
	return line->m.deleted &&
	       (path_begins(line, "/dev/zero") || path_begins(line, "/SYSV") || path_begins(line, "/anon_hugepage"));
}

int maps_line_copy(const struct maps_line *line, struct mapping *ret)
{
	char *path = malloc(line->path_len + 1);

	if (!path)
		return -ENOMEM;
	if (line->path_len)
		memcpy(path, line->path, line->path_len);
	path[line->path_len] = '\0';
	*ret = line->m;
	ret->path = path;
	return 0;
}

int mappings_parse(const char *text, size_t len, struct mappings *ret)
{
	const char *end = text + len;
	struct mappings found = { 0 };
	struct maps_line line;
	int r;

	while ((r = maps_next(&text, end, &line)) > 0) {
		struct mapping m;

		r = maps_line_copy(&line, &m);
		if (!r && vec_push(&found.maps, m)) {
			free(m.path);
			r = -ENOMEM;
		}
		if (r)
			break;
	}
	if (r) {
		mappings_done(&found);
		return r;
	}
	*ret = found;
	return 0;
}

void mappings_done(struct mappings *m)
{
	for (size_t i = 0; i < m->maps.n; i++)
		free(m->maps.v[i].path);
	vec_done(&m->maps);
}
