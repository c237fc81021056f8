/* SPDX-License-Identifier: MIT */
/* Reads records. Their bytes are foreign: event_check() checks every size before anything is printed. */
#include <errno.h>
#include <string.h>

#include "live/print_priv.h"
#include "probe/eval.h"

static const struct layout *layout_for(struct live_probe *p, uint32_t text_room)
{
	if (!p->has_layout || p->text_room != text_room) {
		layout_of(p->checked, text_room, &p->layout);
		p->text_room = text_room;
		p->has_layout = true;
	}
	return &p->layout;
}

static const struct ut_rec_text *text_at(const struct live_event *e, uint32_t offset)
{
	return (const void *)((const char *)e->rec + offset);
}

int event_check(const struct live_event *e)
{
	const struct layout *l;

	if (e->size < sizeof(*e->rec))
		return -EBADMSG;
	if (e->scope)
		return 0;
	l = layout_for(e->probe, e->rec->text_room);
	if (e->size < l->size)
		return -EBADMSG;
	for (unsigned i = 0; l->ntexts && i < e->probe->checked->noutputs; i++) {
		if (!l->slot[i].text)
			continue;
		if (text_at(e, l->slot[i].text)->len > l->slot[i].room ||
		    text_at(e, l->slot[i].text)->state > UT_TEXT_CUT_FAULT)
			return -EBADMSG;
	}
	return 0;
}

uint64_t event_value(const struct live_event *e, unsigned output)
{
	const struct output *out = &e->probe->checked->outputs[output];
	uint64_t ret;

	if (out->kind == OUTPUT_HEAD)
		switch (out->expr->var) {
		case VAR_PID: return e->rec->pid;
		case VAR_TID: return e->rec->tid;
		case VAR_CPU: return e->cpu;
		case VAR_TIME: return e->rec->time_ns;
		default: return 0;
		}
	if (e->scope)
		return eval_expr(out->expr, e->scope);
	if (!e->probe->layout.slot[output].value)
		return 0;
	memcpy(&ret, (const char *)e->rec + e->probe->layout.slot[output].value, sizeof(ret));
	return ret;
}

bool event_faulted(const struct live_event *e, unsigned output)
{
	return !e->scope && e->rec->faults & e->probe->layout.slot[output].fault;
}

void event_text(const struct live_event *e, unsigned output, struct ut_text *ret)
{
	const struct layout_slot *slot = &e->probe->layout.slot[output];
	enum output_kind kind = e->probe->checked->outputs[output].kind;
	const char *nul;

	if (e->scope) {
		*ret = eval_string(e->probe->checked->outputs[output].expr, e->scope);
		return;
	}
	memset(ret, 0, sizeof(*ret));
	if (!slot->text && kind != OUTPUT_HEAD) {
		ret->state = UT_TEXT_FAULT;
		return;
	}
	if (!slot->text) { /* comm */
		ret->bytes = e->rec->comm;
		ret->len = strnlen(e->rec->comm, sizeof(e->rec->comm));
		return;
	}
	ret->bytes = (const char *)e->rec + slot->text + sizeof(struct ut_rec_text);
	ret->len = text_at(e, slot->text)->len;
	ret->state = event_faulted(e, output) ? UT_TEXT_FAULT : (enum ut_text_state)text_at(e, slot->text)->state;
	ret->address = slot->value ? event_value(e, output) : 0;
	nul = kind == OUTPUT_BYTES && ret->len ? memchr(ret->bytes, '\0', ret->len) : NULL;
	if (nul) { /* as in C, %.*s prints nothing after a NUL */
		ret->len = (size_t)(nul - ret->bytes);
		ret->state = UT_TEXT_WHOLE;
	}
}
