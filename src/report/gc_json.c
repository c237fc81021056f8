/* SPDX-License-Identifier: MIT */
/* Prints the summary as one JSON object. Unknown values have no key. */
#include <string.h>

#include "base/json.h"
#include "report/gc_priv.h"

static void add_longest_span(const char *key, const struct gcstat_longest *l, struct json *j)
{
	if (!l->ns)
		return;
	json_object(j, key);
	json_u64(j, "begin_ns", l->begin_ns);
	json_u64(j, "duration_ns", l->ns);
	json_string(j, "kind", l->kind);
	json_string(j, "label", l->label);
	if (*l->cause)
		json_string(j, "cause", l->cause);
	json_close(j);
}

static void add_span_row(const struct gcstat_row *row, struct json *j)
{
	json_object(j, NULL);
	json_string(j, "runtime", row->runtime);
	json_string(j, "kind", row->kind);
	if (row->label)
		json_string(j, "label", row->label);
	json_bool(j, "stops_program", row->stops);
	json_u64(j, "count", row->count);
	json_u64(j, "total_ns", row->total_ns);
	json_u64(j, "covered_ns", row->covered_ns);
	if (row->count) {
		json_u64(j, "median_ns", row->median_ns);
		json_u64(j, "p90_ns", row->p90_ns);
		json_u64(j, "p99_ns", row->p99_ns);
		json_u64(j, "p999_ns", row->p999_ns);
	}
	add_longest_span("longest", &row->longest, j);
	add_longest_span("longest_stop", &row->longest_stop, j);
	json_u64(j, "measured", row->stopped_count);
	if (row->stops && row->stopped_count) {
		json_u64(j, "stopped_ns", row->stopped_ns);
		json_u64(j, "waited_ns", row->waited_ns);
	}
	if (row->stopped_count) {
		json_u64(j, "collector_ns", row->collector_ns);
		json_u64(j, "program_ns", row->program_ns);
		json_u64(j, "held_ns", row->held_ns);
	}
	if (row->has_freed)
		json_u64(j, "freed_bytes", row->freed);
	if (row->part_of) {
		json_string(j, "part_of", row->part_of);
		json_u64(j, "part_of_count", row->part_of_count);
	}
	json_u64(j, "incomplete", row->incomplete);
	json_close(j);
}

static void add_process_and_times(const struct gcstat_report *r, const struct report_gc_who *who, struct json *j)
{
	struct buf sentence = { 0 };

	json_string(j, "type", "summary");
	json_u64(j, "pid", who->pid);
	if (who->comm)
		json_string(j, "comm", who->comm);
	if (who->runtime)
		json_string(j, "runtime", who->runtime);
	if (who->version && *who->version)
		json_string(j, "version", who->version);
	report_gc_sentence(r, who, &sentence);
	json_string(j, "message", sentence.data ? sentence.data : "");
	j->out->failed |= sentence.failed;
	buf_done(&sentence);
	json_u64(j, "begin_ns", r->start_ns);
	json_u64(j, "end_ns", r->end_ns);
	if (who->wall_start_ns)
		json_u64(j, "wall_ns", who->wall_start_ns);
	json_u64(j, "duration_ns", gc_wall_ns(r));
	json_bool(j, "detached", who->ended);
}

static void add_utilization(const struct gcstat_report *r, struct json *j)
{
	json_array(j, "mmu");
	for (size_t i = 0; i < GCSTAT_WINDOWS; i++) {
		if (r->utilisation[i] < 0)
			continue;
		json_object(j, NULL);
		json_u64(j, "window_ns", r->window_ns[i]);
		json_double(j, "utilization", r->utilisation[i], 6);
		json_close(j);
	}
	json_close(j);
	if (r->joined_stops)
		json_bool(j, "mmu_is_lower_bound", true);
}

static void add_histogram(const struct gcstat_report *r, struct json *j)
{
	json_array(j, "histogram");
	for (size_t i = 0; i < GCSTAT_BUCKETS; i++) {
		if (!r->histogram[i])
			continue;
		json_object(j, NULL);
		json_u64(j, "from_ns", i ? UINT64_C(1000) << i : 0);
		if (i + 1 < GCSTAT_BUCKETS)
			json_u64(j, "to_ns", UINT64_C(2000) << i);
		json_u64(j, "count", r->histogram[i]);
		json_close(j);
	}
	json_close(j);
}

void report_gc_json(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	add_process_and_times(r, who, &j);
	json_u64(&j, "stops", r->stops);
	if (r->measured)
		json_u64(&j, "stopped_ns", r->stopped_ns);
	json_u64(&j, "pause_ns", r->pause_ns);
	json_u64(&j, "unmeasured", r->unmeasured);
	add_longest_span("longest_stop", &r->longest_stop, &j);
	json_array(&j, "rows");
	for (size_t i = 0; i < r->nrows; i++)
		add_span_row(&r->rows[i], &j);
	json_close(&j);
	add_utilization(r, &j);
	add_histogram(r, &j);
	json_object(&j, "ends");
	for (unsigned i = 0; i < SPAN_ENDS; i++)
		if (r->ends[i])
			json_u64(&j, span_end_name((enum span_end)i), r->ends[i]);
	json_close(&j);
	json_u64(&j, "lost_inside", r->lost_inside);
	json_u64(&j, "lost", who->lost);
	json_array(&j, "hints");
	for (size_t i = 0; i < who->nhints; i++)
		json_string(&j, NULL, who->hints[i]);
	json_line(&j);
}
