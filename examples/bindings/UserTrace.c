/* SPDX-License-Identifier: MIT */
/* The native half of UserTrace.java: one prctl that the kernel refuses, and that usertrace sees. */
#include <sys/prctl.h>

#include "UserTrace.h" /* by javac -h */

#define PR_USER_TRACE 0x55545243
#define TEXT 0x20
#define ROOM 512 /* more than usertrace reads */

/* The bytes of a Java array, cut to the room, with a NUL behind them. */
static const char *c_string(JNIEnv *env, jbyteArray array, char *room)
{
	jsize len;

	if (!array)
		return NULL;
	len = (*env)->GetArrayLength(env, array);
	if (len >= ROOM)
		len = ROOM - 1;
	(*env)->GetByteArrayRegion(env, array, 0, len, (jbyte *)room);
	room[len] = '\0';
	return room;
}

JNIEXPORT void JNICALL Java_UserTrace_emit(JNIEnv *env, jclass class, jint what, jbyteArray name, jlong value, jlong id,
					   jbyteArray text)
{
	char name_room[ROOM], text_room[ROOM];
	const char *name_text = c_string(env, name, name_room);

	(void)class;
	if (what & TEXT)
		prctl(PR_USER_TRACE, (long)what, name_text, (long)value, c_string(env, text, text_room));
	else
		prctl(PR_USER_TRACE, (long)what, name_text, (long)value, (long)id);
}
