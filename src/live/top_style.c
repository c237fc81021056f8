/* SPDX-License-Identifier: MIT */
/* Colors, shares and bars of the full-screen table. */
#include "live/gc_priv.h"
#include "live/top_priv.h"

void top_style(const struct top *t, enum top_style style, struct buf *out)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",	[STYLE_REVERSE] = "\033[7m",
		[STYLE_DIM] = "\033[2m",   [STYLE_YELLOW] = "\033[33m", [STYLE_RED] = "\033[31m",
	};

	if (t->o.styled && (t->o.color || style < STYLE_YELLOW))
		buf_adds(out, sequences[style]);
}

enum top_style top_style_of_stop(uint64_t ns)
{
	return ns >= GC_VERY_LONG_NS ? STYLE_RED : ns >= GC_LONG_NS ? STYLE_YELLOW : STYLE_PLAIN;
}

enum top_style top_style_of_share(double share)
{
	return share >= 0.1 ? STYLE_RED : share >= 0.02 ? STYLE_YELLOW : STYLE_PLAIN;
}

void top_share_text(const struct rate_view *v, double share, struct buf *out)
{
	if (!v->measured && share > 0)
		buf_adds(out, "≤"); /* the collector may have let the program run */
	if (share > 0 && share < 0.0005)
		buf_adds(out, v->measured ? "<0.1 %" : "0.1 %");
	else
		buf_addf(out, share > 0 ? "%.1f %%" : "0 %%", share * 100);
}

void top_bar(const struct rate_view *v, struct buf *out)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const float from[] = { 0, 0.005f, 0.01f, 0.02f, 0.05f, 0.1f, 0.25f, 0.5f };

	for (unsigned i = 0; i < v->nbar; i++) {
		unsigned level = 0;

		while (level < 7 && v->bar[i] >= from[level + 1])
			level++;
		buf_adds(out, v->bar[i] < 0 ? " " : v->bar[i] == 0 ? "·" : blocks[level]);
	}
}
