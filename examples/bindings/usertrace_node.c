/* SPDX-License-Identifier: MIT */
/*
 * The native part of usertrace.js: one prctl call that the kernel rejects but usertrace sees. It declares the few
 * functions of Node-API that it needs, since their ABI is stable; Node itself exports them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_info__ *napi_info;
typedef napi_value (*napi_callback)(napi_env, napi_info);

int napi_create_function(napi_env, const char *name, size_t len, napi_callback, void *data, napi_value *ret);
int napi_set_named_property(napi_env, napi_value object, const char *name, napi_value value);
int napi_get_cb_info(napi_env, napi_info, size_t *argc, napi_value *argv, napi_value *self, void **data);
int napi_get_value_uint32(napi_env, napi_value, uint32_t *ret);
int napi_get_value_int64(napi_env, napi_value, int64_t *ret);
int napi_get_value_bigint_uint64(napi_env, napi_value, uint64_t *ret, bool *lossless);
int napi_get_value_string_utf8(napi_env, napi_value, char *buf, size_t size, size_t *len);

#define PR_USER_TRACE 0x55545243
#define ID 0x10
#define TEXT 0x20
#define BUFFER_BYTES 512 /* more than usertrace reads */

/* emit(what, name, value, [id as a BigInt | text]) */
static napi_value emit(napi_env env, napi_info info)
{
	char name[BUFFER_BYTES] = "", text[BUFFER_BYTES] = "";
	size_t argc = 4;
	napi_value argv[4];
	uint32_t what = 0;
	int64_t value = 0;
	uint64_t id = 0;
	bool whole;
	int old_errno = errno;

	napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
	napi_get_value_uint32(env, argv[0], &what);
	napi_get_value_string_utf8(env, argv[1], name, sizeof(name), NULL);
	napi_get_value_int64(env, argv[2], &value);
	if (what & ID)
		napi_get_value_bigint_uint64(env, argv[3], &id, &whole);
	if (what & TEXT)
		napi_get_value_string_utf8(env, argv[3], text, sizeof(text), NULL);
	prctl(PR_USER_TRACE, (long)what, name, value, what & TEXT ? (uintptr_t)text : id);
	errno = old_errno;
	return NULL;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	napi_value function;

	if (napi_create_function(env, "emit", 4, emit, NULL, &function) == 0)
		napi_set_named_property(env, exports, "emit", function);
	return exports;
}
