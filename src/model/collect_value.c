/* SPDX-License-Identifier: MIT */
/* What the values of a span's probes mean: sizes, causes, names and the label of the span. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"
#include "model/collect_priv.h"

uint32_t collect_name_key(const char *name)
{
	static const char *const known[COLLECT_KNOWN] = {
		[COLLECT_AFTER] = "after",     [COLLECT_BEFORE] = "before", [COLLECT_CAUSE] = "cause",
		[COLLECT_CLASS] = "class",     [COLLECT_FAILED] = "failed", [COLLECT_FREED] = "freed",
		[COLLECT_HEAP] = "heap",       [COLLECT_ID] = "id",	    [COLLECT_NAME] = "name",
		[COLLECT_OBJECTS] = "objects", [COLLECT_USED] = "used",
	};

	for (uint32_t i = 1; i < COLLECT_KNOWN; i++)
		if (!strcmp(name, known[i]))
			return i;
	return (uint32_t)hash_bytes(name, strlen(name)) | 1u << 31;
}

struct collect_def_keys *collect_def_keys_new(const struct collect_def *defs, size_t n)
{
	struct collect_def_keys *ret;
	size_t names = 0;
	uint32_t *key;

	for (size_t i = 0; i < n; i++)
		names += defs[i].nwords + defs[i].nonly;
	ret = calloc(1, (n + 1) * sizeof(*ret) + names * sizeof(*key));
	key = ret ? (uint32_t *)(ret + n + 1) : NULL;
	for (size_t i = 0; ret && i < n; i++) {
		ret[i].words = key;
		for (size_t k = 0; k < defs[i].nwords; k++)
			*key++ = collect_name_key(defs[i].words[k].value);
		ret[i].only = key;
		for (size_t k = 0; k < defs[i].nonly; k++)
			*key++ = collect_name_key(defs[i].only[k].value);
	}
	return ret;
}

const struct collect_value *collect_value_of(const struct collect_event *e, enum collect_known key)
{
	for (size_t i = 0; i < e->nvalues; i++)
		if (e->values[i].key == key)
			return &e->values[i];
	return NULL;
}

/* Two names may have the same key, unless it is one of the known ones. */
static const struct collect_value *value_called(const struct collect_event *e, uint32_t key, const char *name)
{
	for (size_t i = 0; i < e->nvalues; i++)
		if (e->values[i].key == key && (key < COLLECT_KNOWN || !strcmp(e->values[i].name, name)))
			return &e->values[i];
	return NULL;
}

static size_t kept_values(const struct collect_event *e)
{
	return e->nvalues < COLLECT_VALUES_MAX ? e->nvalues : COLLECT_VALUES_MAX;
}

static size_t kept_len(const struct collect_value *v)
{
	return !v->is_text ? 0 : v->len < COLLECT_VALUE_TEXT ? v->len : COLLECT_VALUE_TEXT;
}

size_t collect_values_room(const struct collect_event *e)
{
	size_t room = kept_values(e) * sizeof(*e->values);

	for (size_t i = 0; i < kept_values(e); i++)
		room += strlen(e->values[i].name) + 1 + kept_len(&e->values[i]);
	return room;
}

size_t collect_values_copy(const struct collect_event *e, struct collect_value *to)
{
	char *at = (char *)(to + kept_values(e));

	for (size_t i = 0; i < kept_values(e); i++) {
		struct collect_value *v = &to[i];

		*v = e->values[i];
		v->name = strcpy(at, e->values[i].name);
		at += strlen(at) + 1;
		if (!v->is_text)
			continue;
		v->len = kept_len(v);
		v->text = at;
		if (v->len)
			memcpy(at, e->values[i].text, v->len);
		at += v->len;
	}
	return kept_values(e);
}

static bool value_matches(const struct collect_value *v, const char *glob)
{
	char text[256];

	if (v->is_text)
		snprintf(text, sizeof(text), "%.*s", v->len < sizeof(text) ? (int)v->len : (int)sizeof(text) - 1,
			 v->text);
	else
		snprintf(text, sizeof(text), "%" PRId64, v->number);
	return glob_match(glob, text);
}

enum collect_fit collect_only_fits(const struct collect_def *def, const struct collect_def_keys *keys,
				   const struct collect_event *e)
{
	enum collect_fit all = COLLECT_FITS;

	for (size_t i = 0; i < def->nonly; i++) {
		const struct collect_value *v = value_called(e, keys->only[i], def->only[i].value);

		if (!v)
			all = COLLECT_FIT_UNKNOWN;
		else if (!value_matches(v, def->only[i].glob))
			return COLLECT_FITS_NOT;
	}
	return all;
}

static void keep_value(bool *has, uint64_t *to, uint64_t v)
{
	*has = true;
	*to = v;
}

static void add_to_value(bool *has, uint64_t *to, uint64_t v)
{
	*has = true;
	add_u64(to, v);
}

/* The first value counts. A long one is truncated between two UTF-8 characters. */
static void set_span_text(char to[COLLECT_TEXT_MAX], const struct collect_value *v)
{
	size_t len = v->len;

	if (*to)
		return;
	if (len >= COLLECT_TEXT_MAX) {
		len = COLLECT_TEXT_MAX - 1;
		for (unsigned i = 0; i < 3 && ((unsigned char)v->text[len] & 0xc0) == 0x80; i++)
			len--;
	}
	if (len)
		memcpy(to, v->text, len);
	to[len] = '\0';
}

/* "CLASS.NAME" if the event has the class as well. */
static void set_span_name(struct collect_span *s, const struct collect_event *e, const struct collect_value *name)
{
	const struct collect_value *class = collect_value_of(e, COLLECT_CLASS);
	char both[2 * COLLECT_TEXT_MAX];
	int len;

	if (!class || !class->is_text || !class->len) {
		set_span_text(s->name, name);
		return;
	}
	len = snprintf(both, sizeof(both), "%.*s.%.*s",
		       (int)(class->len < COLLECT_TEXT_MAX ? class->len : COLLECT_TEXT_MAX), class->text,
		       (int)(name->len < COLLECT_TEXT_MAX ? name->len : COLLECT_TEXT_MAX - 2), name->text);
	set_span_text(s->name, &(struct collect_value){ .text = both, .len = (size_t)len });
}

typedef void (*take_fn)(bool *has, uint64_t *to, uint64_t v);

static void set_span_number(struct collect_span *s, const struct collect_value *v, enum collect_role role)
{
	take_fn take = role == COLLECT_INSIDE ? add_to_value : keep_value;
	/* Used memory inside: the first time before, then after, where the last one counts. */
	bool before = role == COLLECT_BEGIN || (role == COLLECT_INSIDE && !s->has_before);
	const struct {
		enum collect_known key;
		bool *has;
		uint64_t *to;
		take_fn take;
	} known[] = {
		{ COLLECT_USED, before ? &s->has_before : &s->has_after, before ? &s->before : &s->after, keep_value },
		{ COLLECT_BEFORE, &s->has_before, &s->before, take },
		{ COLLECT_AFTER, &s->has_after, &s->after, take },
		{ COLLECT_FREED, &s->has_freed, &s->freed, take },
		{ COLLECT_OBJECTS, &s->has_objects, &s->objects, take },
		{ COLLECT_HEAP, &s->has_heap, &s->heap, keep_value },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (v->key == known[i].key && v->number >= 0)
			known[i].take(known[i].has, known[i].to, (uint64_t)v->number);
}

/* The label is the first word of the list that any event of the span matches; words of its cause are no labels. */
static void match_words(struct collect_span *span, const uint32_t *keys, const struct collect_event *e)
{
	bool called = false;

	for (size_t i = 0; i < span->def->nwords; i++) {
		const struct collect_word *w = &span->def->words[i];
		const struct collect_value *v = value_called(e, keys[i], w->value);
		bool cause = keys[i] == COLLECT_CAUSE;

		if (!cause && span->label == w->text)
			called = true;
		if ((cause ? *span->cause != '\0' : called) || !v || v->is_text || v->number != w->number)
			continue;
		if (cause) {
			set_span_text(span->cause, &(struct collect_value){ .text = w->text, .len = strlen(w->text) });
		} else {
			span->label = w->text;
			called = true;
		}
	}
}

void collect_add_values(struct collect_span *span, const struct collect_def_keys *keys, const struct collect_event *e)
{
	for (size_t i = 0; i < e->nvalues; i++) {
		const struct collect_value *v = &e->values[i];

		if (!v->is_text)
			set_span_number(span, v, e->role);
		else if (v->key == COLLECT_CAUSE)
			set_span_text(span->cause, v);
		else if (v->key == COLLECT_NAME)
			set_span_name(span, e, v);
	}
	match_words(span, keys->words, e);
}

void collect_conclude(struct collect_span *span)
{
	const struct collect_def *def = span->def;

	if (!span->has_freed && span->has_before && span->has_after && span->before >= span->after)
		keep_value(&span->has_freed, &span->freed, span->before - span->after);
	if (!span->label)
		span->label = *span->name ? span->name : def->title ? def->title : def->kind;
}
