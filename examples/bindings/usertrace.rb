# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# User events for Ruby, through libusertrace and Fiddle. One file to copy.
#
# To run the example at the end of this file and trace it:
#
#     $ usertrace trace 'e:*' -- ruby usertrace.rb
#
# USERTRACE_LIBRARY=/path/to/libusertrace.so.0 selects a library that is not installed.
require "fiddle/import"

module UserTrace
  module Library
    extend Fiddle::Importer
    dlload ENV.fetch("USERTRACE_LIBRARY", "libusertrace.so.0")
    extern "void ut_emit(unsigned int, const char *, long long, unsigned long long, const char *)"
    extern "int ut_enabled()"
  end
  private_constant :Library

  BEGIN_SPAN, END_SPAN, MARK, COUNT = 1, 2, 3, 4
  ID, TEXT = 0x10, 0x20

  module_function

  def enabled? = Library.ut_enabled != 0

  # Emits one event. When nobody is tracing, the call returns at once; use `if enabled?` to skip the computation of
  # expensive strings.
  def emit(what, name, value: 0, id: nil, text: nil)
    what |= ID if id
    what |= TEXT if text
    Library.ut_emit(what, name.to_s, value, id || 0, text&.to_s)
  end

  # Emits an instant event.
  def mark(name, **more) = emit(MARK, name, **more)

  # Sets a counter.
  def count(name, value, **more) = emit(COUNT, name, value: value, **more)

  # A span: UserTrace.span("parse") { ... } returns the value of the block. Spans of one thread nest. A span that
  # overlaps others or ends on another thread needs an id.
  def span(name, id: nil, text: nil)
    emit(BEGIN_SPAN, name, id: id, text: text)
    yield
  ensure
    emit(END_SPAN, name, id: id)
  end
end

if $PROGRAM_NAME == __FILE__
  UserTrace.span("request") do
    UserTrace.span("parse") { :parsed }
    UserTrace.mark("cache miss", text: "/index.html")
    UserTrace.count("température", -4)
    UserTrace.span("download", id: 7) { :loaded }
    UserTrace.mark("готово ✓")
  end
end
