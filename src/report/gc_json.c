/* SPDX-License-Identifier: MIT */
/* The summary as one JSON object. What is not known has no key. */
#include <string.h>

#include "report/gc_priv.h"
#include "report/json.h"

static void add_flag(const char *key, bool v, struct buf *out)
{
	buf_addf(out, "\"%s\":%s,", key, v ? "true" : "false");
}

static void add_longest(const char *key, const struct gcstat_longest *l, struct buf *out)
{
	if (!l->ns)
		return;
	buf_addf(out, "\"%s\":{", key);
	json_add_number("duration_ns", l->ns, out);
	json_add_number("begin_ns", l->begin_ns, out);
	json_add_text("kind", l->kind, out);
	json_add_text("label", l->label, out);
	if (*l->cause)
		json_add_text("cause", l->cause, out);
	json_close_with('}', out);
	buf_addc(out, ',');
}

static void add_measured(const struct gcstat_row *row, struct buf *out)
{
	if (!row->stopped_count)
		return;
	json_add_number("measured", row->stopped_count, out);
	if (row->stops) {
		json_add_number("stopped_ns", row->stopped_ns, out);
		json_add_number("waited_ns", row->waited_ns, out);
	}
	json_add_number("collector_ns", row->collector_ns, out);
	json_add_number("program_ns", row->program_ns, out);
	json_add_number("held_ns", row->held_ns, out);
}

static void add_row(const struct gcstat_row *row, struct buf *out)
{
	buf_addc(out, '{');
	json_add_text("runtime", row->runtime, out);
	json_add_text("kind", row->kind, out);
	if (row->label)
		json_add_text("label", row->label, out);
	add_flag("stops", row->stops, out);
	json_add_number("count", row->count, out);
	json_add_number("total_ns", row->total_ns, out);
	json_add_number("covered_ns", row->covered_ns, out);
	if (row->count) {
		json_add_number("median_ns", row->median_ns, out);
		json_add_number("p90_ns", row->p90_ns, out);
		json_add_number("p99_ns", row->p99_ns, out);
		json_add_number("p999_ns", row->p999_ns, out);
	}
	add_longest("longest", &row->longest, out);
	add_longest("longest_stop", &row->longest_stop, out);
	add_measured(row, out);
	if (row->has_freed)
		json_add_number("freed", row->freed, out);
	if (row->part_of) {
		json_add_text("part_of", row->part_of, out);
		json_add_number("part_of_count", row->part_of_count, out);
	}
	json_add_number("cut", row->cut, out);
	json_add_number("died", row->died, out);
	json_close_with('}', out);
	buf_addc(out, ',');
}

static void add_who(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	struct buf sentence = { 0 };

	buf_adds(out, "{\"type\":\"summary\",");
	json_add_number("pid", who->pid, out);
	if (who->comm)
		json_add_text("comm", who->comm, out);
	if (who->runtime)
		json_add_text("runtime", who->runtime, out);
	if (who->version && *who->version)
		json_add_text("version", who->version, out);
	report_gc_sentence(r, who, &sentence);
	json_add_text("sentence", sentence.data ? sentence.data : "", out);
	out->failed |= sentence.failed;
	buf_done(&sentence);
	json_add_number("start_ns", r->start_ns, out);
	json_add_number("end_ns", r->end_ns, out);
	json_add_number("duration_ns", gc_wall_ns(r), out);
	if (who->wall_start_ns)
		json_add_number("wall_start_ns", who->wall_start_ns, out);
	add_flag("ended", who->ended, out);
}

static void add_stops(const struct gcstat_report *r, struct buf *out)
{
	add_flag("measured", r->measured, out);
	json_add_number("stops", r->stops, out);
	if (r->measured)
		json_add_number("stopped_ns", r->stopped_ns, out);
	json_add_number("pause_ns", r->pause_ns, out);
	json_add_number("unmeasured", r->unmeasured, out);
	add_longest("longest_stop", &r->longest_stop, out);
}

static void add_rows(const struct gcstat_report *r, struct buf *out)
{
	buf_adds(out, "\"rows\":[");
	for (size_t i = 0; i < r->nrows; i++)
		add_row(&r->rows[i], out);
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_utilisation(const struct gcstat_report *r, struct buf *out)
{
	buf_adds(out, "\"mmu\":[");
	for (size_t i = 0; i < GCSTAT_WINDOWS; i++)
		if (r->utilisation[i] >= 0)
			buf_addf(out, "{\"window_ns\":%llu,\"utilisation\":%.6f},", (unsigned long long)r->window_ns[i],
				 r->utilisation[i]);
	json_close_with(']', out);
	buf_addc(out, ',');
	if (r->joined_stops)
		add_flag("mmu_is_lower_bound", true, out);
}

static void add_histogram(const struct gcstat_report *r, struct buf *out)
{
	buf_adds(out, "\"histogram\":[");
	for (size_t i = 0; i < GCSTAT_BUCKETS; i++) {
		if (!r->histogram[i])
			continue;
		buf_addc(out, '{');
		json_add_number("from_ns", i ? UINT64_C(1000) << i : 0, out);
		if (i + 1 < GCSTAT_BUCKETS)
			json_add_number("to_ns", UINT64_C(2000) << i, out);
		json_add_number("count", r->histogram[i], out);
		json_close_with('}', out);
		buf_addc(out, ',');
	}
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_missing(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	json_add_number("cut_at_start", r->cut_at_start, out);
	json_add_number("cut_at_stop", r->cut_at_stop, out);
	json_add_number("died", r->died, out);
	json_add_number("forgotten", r->forgotten, out);
	json_add_number("inherited", r->inherited, out);
	json_add_number("lost_inside", r->lost_inside, out);
	json_add_number("lost", who->lost, out);
	buf_adds(out, "\"hints\":[");
	for (size_t i = 0; i < who->nhints; i++) {
		buf_add_json(out, who->hints[i], strlen(who->hints[i]));
		buf_addc(out, ',');
	}
	json_close_with(']', out);
}

void report_gc_json(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	add_who(r, who, out);
	add_stops(r, out);
	add_rows(r, out);
	add_utilisation(r, out);
	add_histogram(r, out);
	add_missing(r, who, out);
	buf_adds(out, "}\n");
}
