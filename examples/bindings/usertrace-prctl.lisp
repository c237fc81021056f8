;;;; SPDX-License-Identifier: MIT
;;;; User events for Common Lisp (SBCL) without a library: a prctl call that the kernel rejects but usertrace sees.
;;;; One file to copy. When nobody is tracing, an event costs a failing system call, about 150 ns.
;;;;
;;;; To run the example at the end of this file and trace it:
;;;;
;;;;     $ usertrace trace 'e:*' -- sbcl --non-interactive --load usertrace-prctl.lisp --eval '(usertrace::example)'

(defpackage :usertrace
  (:use :cl :sb-alien)
  (:export #:mark #:tally #:with-span))
(in-package :usertrace)

(defconstant +pr-user-trace+ #x55545243)
(defconstant +begin+ 1)
(defconstant +end+ 2)
(defconstant +mark+ 3)
(defconstant +count+ 4)
(defconstant +id+ #x10)
(defconstant +text+ #x20)

(defun emit (what name &key (value 0) id)
  (alien-funcall (extern-alien "prctl" (function int int unsigned-long (c-string :external-format :utf-8)
                                                 (signed 64) (unsigned 64)))
                 +pr-user-trace+ (logior what (if id +id+ 0)) name value (or id 0)))

(defun emit-text (what name text)
  (alien-funcall (extern-alien "prctl" (function int int unsigned-long (c-string :external-format :utf-8)
                                                 (signed 64) (c-string :external-format :utf-8)))
                 +pr-user-trace+ (logior what +text+) name 0 text))

(defun mark (name &key text)
  "Emits an instant event."
  (if text (emit-text +mark+ name text) (emit +mark+ name)))

(defun tally (name value)
  "Sets a counter."
  (emit +count+ name :value value))

(defmacro with-span ((name &key id) &body body)
  "A span. Spans of one thread nest; a span that overlaps others or ends on another thread needs an id."
  (let ((span-name (gensym "NAME")) (span-id (gensym "ID")))
    `(let ((,span-name ,name) (,span-id ,id))
       (emit +begin+ ,span-name :id ,span-id)
       (unwind-protect (progn ,@body)
         (emit +end+ ,span-name :id ,span-id)))))

(defun example ()
  (with-span ("request")
    (with-span ("parse"))
    (mark "cache miss" :text "/index.html")
    (tally "température" -4)
    (with-span ("download" :id 7))
    (mark "готово ✓")))
