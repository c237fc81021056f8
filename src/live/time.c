/* SPDX-License-Identifier: MIT */
/* Times of events: local time, and seconds since the start. */
#include <time.h>

#include "live/print_priv.h"

#define NS_PER_SEC 1000000000u

uint64_t wall_ns_of(const struct live_printer *p, uint64_t ns)
{
	return p->opts.wall_ns ? p->opts.wall_ns + (ns - p->opts.mono_ns) : 0;
}

/* @digits decimal digits of @v, with leading zeros. */
static void add_digits(uint32_t v, unsigned digits, struct buf *out)
{
	char *room = buf_room(out, digits);

	if (!room)
		return;
	for (unsigned i = digits; i-- > 0; v /= 10)
		room[i] = (char)('0' + v % 10);
	out->len += digits;
	out->data[out->len] = '\0';
}

void wall_print(struct live_printer *p, uint64_t ns, struct buf *out)
{
	uint64_t wall = wall_ns_of(p, ns);
	time_t second = (time_t)(wall / NS_PER_SEC);
	struct tm tm;

	if (second != p->second) {
		localtime_r(&second, &tm);
		strftime(p->hms, sizeof(p->hms), "%H:%M:%S.", &tm);
		p->second = second;
	}
	buf_adds(out, p->hms);
	add_digits((uint32_t)(wall % NS_PER_SEC / 1000), 6, out);
}

void seconds_print(const struct live_printer *p, uint64_t ns, struct buf *out)
{
	bool before = ns < p->opts.start_ns;
	uint64_t since = before ? p->opts.start_ns - ns : ns - p->opts.start_ns;
	uint32_t rest = (uint32_t)(since % NS_PER_SEC);

	if (before)
		buf_addc(out, '-');
	buf_addu(out, since / NS_PER_SEC);
	buf_addc(out, '.');
	add_digits(p->opts.decimals == 9 ? rest : rest / 1000, p->opts.decimals == 9 ? 9 : 6, out);
}
