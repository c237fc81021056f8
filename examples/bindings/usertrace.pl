#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# User events for Perl without a library or module: a prctl call that the kernel rejects but usertrace sees. One file
# to copy (as UserTrace.pm). When nobody is tracing, an event costs a failing system call.
#
# To run the example at the end of this file and trace it:
#
#     $ usertrace trace 'e:*' -- perl usertrace.pl
#
package UserTrace;
use v5.28;
use warnings;
use utf8;
use feature 'signatures';
no warnings 'experimental::signatures';
use POSIX ();

use constant PR_USER_TRACE => 0x55545243;
use constant { BEGIN_SPAN => 1, END_SPAN => 2, MARK => 3, COUNT => 4, ID => 0x10, TEXT => 0x20 };

# The system call number of prctl.
my $prctl = { x86_64 => 157, aarch64 => 167 }->{ (POSIX::uname())[4] } // die "unknown system call number of prctl\n";

# Emits one event. syscall passes strings by address and numbers by value.
sub emit($what, $name, $value = 0, $last = 0) {
	local $!;
	utf8::encode($name);
	utf8::encode($last) if $what & TEXT;
	syscall($prctl, PR_USER_TRACE, $what, "$name", $value + 0, $what & TEXT ? "$last" : $last + 0);
}

# Emits an instant event.
sub mark($name, $text = undef) {
	defined $text ? emit(MARK | TEXT, $name, 0, $text) : emit(MARK, $name);
}

# Sets a counter.
sub count($name, $value) { emit(COUNT, $name, $value) }

# A span: span(parse => sub { ... }) returns the value of the sub. A span that overlaps others needs an id.
sub span($name, $work, $id = undef) {
	my $span = UserTrace::Span->new($name, $id);
	return $work->();
}

# Ends when it goes out of scope, however that happens.
package UserTrace::Span {
	sub new($class, $name, $id = undef) {
		my $flags = defined $id ? UserTrace::ID : 0;
		UserTrace::emit(UserTrace::BEGIN_SPAN | $flags, $name, 0, $id // 0);
		return bless [ UserTrace::END_SPAN | $flags, $name, 0, $id // 0 ], $class;
	}
	sub DESTROY($self) { UserTrace::emit(@$self) }
}

# The example, unless the file was loaded by another.
unless (caller) {
	span(request => sub {
		span(parse => sub { });
		mark("cache miss", "/index.html");
		count("température", -4);
		span(download => sub { }, 7);
		mark("готово ✓");
	});
}

1;
