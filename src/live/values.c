/* SPDX-License-Identifier: MIT */
/* Finds the names in a format and reads the values of a record by these names. */
#include "live/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "live/print_priv.h"

struct named_step {
	char *name;
	uint32_t key; /* of the name */
	const struct step *step;
};

struct live_values {
	VEC(struct named_step) named;
};

/* The word before a '=' at the end of the literal; "" for none. */
static char *name_before(const struct step *literal)
{
	size_t end = literal->literal_len, start;

	if (!end || literal->literal[end - 1] != '=')
		return strdup("");
	for (start = --end; start; start--) {
		char c = literal->literal[start - 1];

		if (!is_word_char(c) && c != '-')
			break;
	}
	return strndup(literal->literal + start, end - start);
}

static int add_named(struct live_values *v, const struct step *literal, const struct step *step)
{
	struct named_step n = { .name = name_before(literal), .step = step };

	if (n.name && !*n.name) {
		free(n.name);
		return 0;
	}
	n.key = n.name ? collect_name_key(n.name) : 0;
	if (!n.name || vec_push(&v->named, n)) {
		free(n.name);
		return -ENOMEM;
	}
	return 0;
}

struct live_values *live_values_new(const struct live_probe *p)
{
	struct live_values *v = calloc(1, sizeof(*v));

	for (size_t i = 1; v && i < p->steps.n && v->named.n < LIVE_VALUES_MAX; i++) {
		const struct step *before = &p->steps.v[i - 1], *s = &p->steps.v[i];
		bool has_value = s->kind == STEP_INT || s->kind == STEP_CHAR || s->kind == STEP_TEXT;

		if (before->kind == STEP_LITERAL && has_value && add_named(v, before, s))
			return live_values_free(v);
	}
	return v;
}

const struct live_values *live_values_of(struct live_probe *probe)
{
	if (!probe->values)
		probe->values = live_values_new(probe);
	return probe->values;
}

struct live_values *live_values_free(struct live_values *v)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < v->named.n; i++)
		free(v->named.v[i].name);
	vec_done(&v->named);
	free(v);
	return NULL;
}

static bool read_value(const struct named_step *n, const struct live_event *e, struct collect_value *ret)
{
	const struct step *s = n->step;
	struct ut_text t;

	*ret = (struct collect_value){ .name = n->name, .key = n->key, .is_text = s->kind == STEP_TEXT };
	if (event_unreadable(e, s->output))
		return false;
	if (ret->is_text) {
		event_text(e, s->output, &t);
		ret->text = t.bytes;
		ret->len = t.len;
		return t.state != UT_TEXT_NULL && t.state != UT_TEXT_FAULT;
	}
	ret->number = number_extend(event_value(e, s->output), s->kind == STEP_CHAR ? 1 : s->number.size,
				    s->number.is_signed);
	return !event_faulted(e, s->output);
}

int live_values_read(const struct live_values *v, const struct live_event *e, struct collect_value ret[LIVE_VALUES_MAX])
{
	int n = 0, r = event_check(e);

	if (r)
		return r;
	for (size_t i = 0; i < v->named.n; i++)
		n += read_value(&v->named.v[i], e, &ret[n]);
	return n;
}
