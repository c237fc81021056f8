;;;; SPDX-License-Identifier: MIT
;;;; User events for Common Lisp (SBCL), through libusertrace. One file to copy; usertrace-prctl.lisp needs no library.
;;;;
;;;; To run the example at the end of this file and trace it:
;;;;
;;;;     $ usertrace trace 'e:*' -- sbcl --non-interactive --load usertrace.lisp --eval '(usertrace::example)'
;;;;
;;;; USERTRACE_LIBRARY=/path/to/libusertrace.so.0 selects a library that is not installed.

(defpackage :usertrace
  (:use :cl :sb-alien)
  (:export #:enabled-p #:mark #:tally #:with-span))
(in-package :usertrace)

(load-shared-object (or (sb-ext:posix-getenv "USERTRACE_LIBRARY") "libusertrace.so.0"))

(define-alien-routine ("ut_emit" %emit) void
  (what (unsigned 32))
  (name (c-string :external-format :utf-8))
  (value (signed 64))
  (id (unsigned 64))
  (text (c-string :external-format :utf-8)))
(define-alien-routine ("ut_enabled" %enabled) int)

(defconstant +begin+ 1)
(defconstant +end+ 2)
(defconstant +mark+ 3)
(defconstant +count+ 4)
(defconstant +id+ #x10)
(defconstant +text+ #x20)

(defun enabled-p ()
  (plusp (%enabled)))

(defun emit (what name &key (value 0) id text)
  "Emits one event. When nobody is tracing, the call returns at once; use (when (enabled-p) ...) to skip the computation
of expensive strings."
  (%emit (logior what (if id +id+ 0) (if text +text+ 0)) name value (or id 0) text))

(defun mark (name &key id text)
  "Emits an instant event."
  (emit +mark+ name :id id :text text))

(defun tally (name value &key id)
  "Sets a counter."
  (emit +count+ name :value value :id id))

(defmacro with-span ((name &key id text) &body body)
  "A span. Spans of one thread nest; a span that overlaps others or ends on another thread needs an id."
  (let ((span-name (gensym "NAME")) (span-id (gensym "ID")))
    `(let ((,span-name ,name) (,span-id ,id))
       (emit +begin+ ,span-name :id ,span-id :text ,text)
       (unwind-protect (progn ,@body)
         (emit +end+ ,span-name :id ,span-id)))))

(defun example ()
  (with-span ("request")
    (with-span ("parse"))
    (mark "cache miss" :text "/index.html")
    (tally "température" -4)
    (with-span ("download" :id 7))
    (mark "готово ✓")))
