#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# The first program in the emulated machine: mounts what a system has, runs the tests, switches off.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/root PYTHONDONTWRITEBYTECODE=1 CMOCKA_MESSAGE_OUTPUT=TAP
export UT_SOURCE_ROOT="@SOURCE@" UT_BUILD_ROOT="@BUILD@" UT_CASE="@CASE@" UT_PATIENCE=60 UT_VM=1
mkdir -p /proc /sys /dev /tmp /run /root /sys/fs
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chmod 1777 /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
ip link set lo up
cd "@SOURCE@"

if [ -n "@SHELL@" ]; then
	setsid cttyhack sh
	poweroff -f
fi

# Line discipline: results must come out as they are.
stty -F /dev/ttyS1 raw -echo 115200
exec 3>/dev/ttyS1
echo "# Linux $(uname -r), $(cut -d' ' -f1 /proc/uptime) s after its start" >&3
for test in @UNIT_TESTS@; do
	name=${test##*:}
	echo "# test_$name" >&3
	echo "# at $(cut -d" " -f1 /proc/uptime) s" >&3
	UT_CASE= timeout -s KILL 60 "${test%:*}" "$name" >&3 2>&1 || echo "# test_$name: status $?" >&3
done
for file in @LIVE_TESTS@; do
	echo "# ${file##*/}" >&3
	echo "# at $(cut -d" " -f1 /proc/uptime) s" >&3
	timeout -s KILL 120 python3 -X frozen_modules tests/live/lib/tap.py --vm "$file" >&3
	status=$?
	[ $status -le 1 ] || echo "not ok - ${file##*/} ended with status $status" >&3
done
echo "# $(cut -d' ' -f1 /proc/uptime) s" >&3
echo "# finished" >&3
poweroff -f
