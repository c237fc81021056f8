#!/bin/sh
# SPDX-License-Identifier: MIT
#
# User events from a shell script: `usertrace emit` emits events on behalf of the shell that calls it.
#
#     $ usertrace trace 'e:*' -- sh story.sh

# span NAME COMMAND…: returns the exit status of the command.
span() {
	name=$1; shift
	usertrace emit begin "$name"
	"$@" && status=0 || status=$?
	usertrace emit end "$name"
	return $status
}

usertrace emit begin request
span parse true
usertrace emit mark "cache miss" --text /index.html
usertrace emit count "température" -4
usertrace emit begin download --id 7
usertrace emit end download --id 7
usertrace emit mark "готово ✓"
usertrace emit end request
