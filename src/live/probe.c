/* SPDX-License-Identifier: MIT */
/* Prepares a checked probe for printing. */
#include <stdlib.h>
#include <string.h>

#include "live/print_priv.h"
#include "live/values.h"

/* The name of an output: its variable, or its expression as typed. */
static char *output_name(const struct probe_checked *checked, const struct output *out)
{
	const struct expr *e = out->expr;

	if (out->kind == OUTPUT_USTACK)
		return strdup("ustack");
	if (out->kind == OUTPUT_KSTACK)
		return strdup("kstack");
	if (e->op == EXPR_VAR)
		return strdup(e->string);
	return strndup(checked->spec->text + e->pos, e->len);
}

/* Keys of one object must differ: the second "arg1" is "arg1#2". */
static char *output_key(const struct live_probe *p, unsigned i)
{
	struct buf name = { 0 }, key = { 0 };
	unsigned same = 1;

	for (unsigned j = 0; j < i; j++)
		same += !strcmp(p->names[j], p->names[i]);
	buf_adds(&name, p->names[i]);
	if (same > 1)
		buf_addf(&name, "#%u", same);
	if (!name.failed)
		buf_add_json(&key, name.data, name.len);
	buf_done(&name);
	return buf_take(&key);
}

struct live_probe *live_probe_new(const struct probe_checked *checked)
{
	struct live_probe *p = calloc(1, sizeof(*p));
	bool ok = p;

	if (!p)
		return NULL;
	p->checked = checked;
	for (unsigned i = 0; ok && i < checked->noutputs; i++) {
		p->names[i] = output_name(checked, &checked->outputs[i]);
		p->keys[i] = p->names[i] ? output_key(p, i) : NULL;
		ok = p->keys[i];
	}
	if (ok && !steps_compile(p))
		return p;
	return live_probe_free(p);
}

struct live_probe *live_probe_free(struct live_probe *p)
{
	if (!p)
		return NULL;
	for (unsigned i = 0; i < OUTPUTS_MAX; i++) {
		free(p->names[i]);
		free(p->keys[i]);
	}
	vec_done(&p->steps);
	live_values_free(p->values);
	free(p);
	return NULL;
}

struct live_probe *live_probes_get(struct live_probes *p, size_t number, const struct probe_checked *checked)
{
	while (p->v.n <= number)
		if (vec_push(&p->v, NULL))
			return NULL;
	if (!p->v.v[number])
		p->v.v[number] = live_probe_new(checked);
	return p->v.v[number];
}

void live_probes_done(struct live_probes *p)
{
	for (size_t i = 0; i < p->v.n; i++)
		live_probe_free(p->v.v[i]);
	vec_done(&p->v);
}
