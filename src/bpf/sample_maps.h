/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For sample.bpf.c alone: its maps and its options. */
#ifndef UT_BPF_SAMPLE_MAPS_H
#define UT_BPF_SAMPLE_MAPS_H

#include "bpf/registers.h"
#include "bpf/ring.h"
#include "bpf/sample.h"
#include "bpf/task.h"
#include "wire/sample.h"

const volatile struct sample_options options = { .ncpus = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, 4);
	__uint(max_entries, SAMPLE_SEGMENTS);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(key_size, 4);
			__uint(value_size, SAMPLE_CHUNK_ROWS * 4);
			__uint(max_entries, SAMPLE_SEGMENT_CHUNKS);
		});
} ut_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, SAMPLE_DIRECTORY_MAX);
} ut_directory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_rule);
	__uint(max_entries, UT_UNWIND_RULES_MAX);
} ut_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_mapping);
	__uint(max_entries, SAMPLE_MAPPINGS_MAX);
} ut_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_process);
	__uint(max_entries, SAMPLE_PROCESSES_MAX);
} ut_sampled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct sample_away);
	__uint(max_entries, 1); /* changed before loading when waits are wanted */
} ut_away SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, uint64_t);
	__type(value, uint8_t);
	__uint(max_entries, SAMPLE_STACKS_KNOWN);
} ut_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, uint64_t);
	__uint(max_entries, 1);
} ut_busy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct sample_clock);
	__uint(max_entries, 1); /* by CPU: changed before loading */
} ut_clock SEC(".maps");

#endif
