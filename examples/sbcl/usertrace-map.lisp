;;;; SPDX-License-Identifier: MIT
;;;; A perf map of SBCL's compiled code, for profilers: /tmp/perf-PID.map. One file to copy, without dependencies.
;;;; Written for SBCL 2.2.9 on x86-64; the map of a plain image has 60,000 lines and 3 MB.
;;;;
;;;;     $ sbcl --load usertrace-map.lisp --load program.lisp
;;;;
;;;; Loading this file writes the map and keeps it up to date. Code from DEFUN, COMPILE and EVAL is added at once; other new
;;;; code, and code that the collector moved, after a collection, at most once a second, since a scan takes about 0.1 s.
;;;; (usertrace-map:refresh) scans at once, for instance after loading a large system; (usertrace-map:stop) stops. The file
;;;; is kept for the profiler: `usertrace map --clean` removes those of exited processes.

(require :sb-posix)
(defpackage :usertrace-map
  (:use :cl)
  (:export #:refresh #:start #:stop #:*interval*))
(in-package :usertrace-map)

(defvar *interval* 1 "Minimum number of seconds between two scans after collections.")
(defvar *lock* (sb-thread:make-mutex :name "usertrace-map"))
(defvar *file* nil "The file descriptor of the map.")
(defvar *pid* nil "The process that the map belongs to: a forked child has its own.")
(defvar *written* (make-hash-table) "The functions in the map: address to (size . name).")
(defvar *next* 0 "The earliest time of the next scan after a collection, in internal time.")

;;; Names

(defun clean (name)
  "Returns NAME as one line of at most 500 characters."
  (let ((end (min (length name) 500)))
    (concatenate 'string
                 (map 'string (lambda (c) (if (or (< (char-code c) 32) (<= 127 (char-code c) 159)) #\? c))
                      (subseq name 0 end))
                 (if (< end (length name)) "..." ""))))

(defun printed (name)
  "Prints NAME, a symbol or a list such as (FLET INNER :IN OUTER), with the packages that CL-USER does not use."
  (handler-case
      (with-standard-io-syntax
        (let ((*print-readably* nil) (*print-level* 4) (*print-length* 8) (*print-pretty* nil))
          (clean (if (stringp name) name (prin1-to-string name)))))
    (error () "[no name]")))

;;; Finding functions. A code object begins with constants and contains several functions, which SBCL's debugging
;;; information describes. The caller pins the object.

(defun each-debug-function (code report)
  "Calls REPORT with the name, begin and end offset of each function. Returns NIL if there are none."
  (let ((info (sb-kernel:%code-debug-info code)))
    (when (typep info 'sb-c::compiled-debug-info)
      (loop for fun = (sb-c::compiled-debug-info-fun-map info) then next
            while fun
            for next = (sb-c::compiled-debug-fun-next fun)
            for begin = 0 then end
            for end = (if next (sb-c::compiled-debug-fun-offset next) (sb-kernel:%code-text-size code))
            do (funcall report (sb-c::compiled-debug-fun-name fun) begin end)
            finally (return t)))))

(defun each-routine (code report)
  "The same for the assembler routines that all code calls."
  (let ((table (sb-kernel:%code-debug-info code)))
    (when (consp table)
      (setf table (car table)))
    (when (hash-table-p table)
      (maphash (lambda (name location)
                 (when (and (consp location) (integerp (car location)))
                   (funcall report (format nil "~(~a~) [assembler]" name) (car location)
                            (1+ (if (consp (cdr location)) (cadr location) (cdr location))))))
               table)
      t)))

(defun each-entry (code report)
  "The same for entry points, if there is no debugging information."
  (loop with base = (sb-sys:sap-int (sb-kernel:code-instructions code))
        with n = (sb-kernel:code-n-entries code)
        for i below n
        for fun = (sb-kernel:%code-entry-point code i)
        for begin = (- (logandc2 (sb-kernel:get-lisp-obj-address fun) 15) base)
        for end = (if (< (1+ i) n)
                      (- (logandc2 (sb-kernel:get-lisp-obj-address (sb-kernel:%code-entry-point code (1+ i))) 15) base)
                      (sb-kernel:%code-text-size code))
        do (funcall report (sb-kernel:%simple-fun-name fun) begin end)))

(defun note (address size name seen stream)
  "Records a function in SEEN, and writes it unless the map already contains it."
  (let ((old (gethash address *written*)))
    (when (plusp size)
      (cond ((and old (= (car old) size) (equal (cdr old) name))
             (setf (gethash address seen) old))
            (t
             (setf (gethash address seen) (cons size name))
             (format stream "~(~x ~x~) ~a~%" address size (printed name)))))))

(defun lines-of (code seen stream)
  "Writes the functions of a code object."
  (sb-sys:with-pinned-objects (code)
    (let ((base (sb-sys:sap-int (sb-kernel:code-instructions code))))
      (flet ((report (name begin end)
               (note (+ base begin) (- end begin) name seen stream)))
        (or (handler-case (each-debug-function code #'report) (error () nil))
            (handler-case (each-routine code #'report) (error () nil))
            (each-entry code #'report))))))

(defun lines-of-links (seen stream)
  "Writes the objects through which named and generic functions are called. These objects do not move."
  (flet ((note-all (type name-of words)
           (dolist (object (ignore-errors (sb-vm:list-allocated-objects :immobile :type type)))
             (note (logandc2 (sb-kernel:get-lisp-obj-address object) 15) (* 8 words)
                   (list :link (ignore-errors (funcall name-of object))) seen stream))))
    (note-all sb-vm:fdefn-widetag #'sb-kernel:fdefn-name sb-vm:fdefn-size)
    (note-all sb-vm:funcallable-instance-widetag #'sb-kernel:%fun-name 4)))

(defun lines ()
  "Returns the missing lines of the map as one string. Forgets functions that moved, since their addresses may be reused."
  (let ((seen (make-hash-table :size 50000)))
    (prog1 (with-output-to-string (stream)
             (lines-of-links seen stream)
             (dolist (space '(:immobile :static :dynamic))
               (dolist (code (ignore-errors (sb-vm:list-allocated-objects space :type sb-vm:code-header-widetag)))
                 (when (plusp (sb-kernel:%code-text-size code))
                   (handler-case (lines-of code seen stream) (error () nil))))))
      (setf *written* seen))))

;;; The file

(defun write-all (fd text)
  (let ((bytes (sb-ext:string-to-octets text :external-format :utf-8)))
    (sb-sys:with-pinned-objects (bytes)
      (loop with done = 0
            while (< done (length bytes))
            do (incf done (sb-posix:write fd (sb-sys:sap+ (sb-sys:vector-sap bytes) done) (- (length bytes) done)))))))

(defun open-new ()
  "Creates the complete map of this process under a temporary name and renames it, so that an existing file, such as a link
or another user's file, is not written to."
  (let* ((path (format nil "/tmp/perf-~d.map" (sb-posix:getpid))) (new (format nil "~a.new" path)))
    (clrhash *written*)
    (ignore-errors (sb-posix:unlink new))
    (let ((fd (sb-posix:open new (logior sb-posix:o-wronly sb-posix:o-append sb-posix:o-creat sb-posix:o-excl
                                         sb-posix:o-nofollow)
                             #o600)))
      (handler-case (progn (write-all fd (lines))
                           (sb-posix:rename new path))
        (error (e)
          (ignore-errors (sb-posix:close fd))
          (ignore-errors (sb-posix:unlink new))
          (error e)))
      (sb-posix:fcntl fd sb-posix:f-setfd 1)
      (setf *file* fd *pid* (sb-posix:getpid)))))

(defun scan ()
  "Adds functions that are new since the last scan. Returns the number of functions."
  (sb-thread:with-recursive-lock (*lock*)
    (let ((epoch sb-kernel::*gc-epoch*))
      (cond ((not *file*) (open-new))
            ((/= *pid* (sb-posix:getpid)) (sb-posix:close *file*) (setf *file* nil) (open-new))
            (t (write-all *file* (lines))))
      ;; A collection during the scan may have moved code.
      (loop repeat 5
            until (eq epoch sb-kernel::*gc-epoch*)
            do (setf epoch sb-kernel::*gc-epoch*)
               (write-all *file* (lines))))
    (setf *next* (+ (get-internal-real-time) (* *interval* internal-time-units-per-second)))
    (hash-table-count *written*)))

(defun refresh ()
  "The same, including the newest code, which SBCL lists only after a collection."
  (sb-ext:gc)
  (scan))

;;; Updating the map

(defun stop ()
  (sb-int:unencapsulate 'sb-impl::%defun 'usertrace-map)
  (sb-int:unencapsulate 'sb-c:compile-in-lexenv 'usertrace-map)
  (setf sb-ext:*after-gc-hooks* (remove 'after-gc sb-ext:*after-gc-hooks*))
  (sb-thread:with-recursive-lock (*lock*)
    (when *file*
      (ignore-errors (sb-posix:close *file*))
      (setf *file* nil))))

(defmacro or-stop (&body body)
  "An error in the body, such as a full disk, stops the updates but not the program."
  `(handler-case (progn ,@body)
     (error (e)
       (stop)
       (format *error-output* "~&usertrace-map: the map is no longer updated: ~a~%" e))))

(defun after-gc ()
  (when (and *file* (>= (get-internal-real-time) *next*) (not (sb-thread:holding-mutex-p *lock*)))
    (or-stop (scan))))

(defun add-function (function &optional (link nil named))
  "Adds the code of a function, and the object that jumps to it."
  (when (and *file* (typep function 'compiled-function))
    (or-stop
      (sb-thread:with-recursive-lock (*lock*)
        (write-all *file*
                   (with-output-to-string (stream)
                     (when (and named (< (sb-kernel:get-lisp-obj-address link) sb-vm:dynamic-space-start))
                       (note (logandc2 (sb-kernel:get-lisp-obj-address link) 15) (* 8 sb-vm:fdefn-size)
                             (list :link (sb-kernel:fdefn-name link)) *written* stream))
                     (lines-of (sb-kernel:fun-code-header (sb-kernel:%fun-fun function)) *written* stream)))))))

(defun after-defun (function name definition &rest more)
  "Wraps the function that DEFUN calls with a name and a compiled function."
  (multiple-value-prog1 (apply function name definition more)
    (add-function definition (sb-int:find-fdefn name))))

(defun after-compile (function &rest arguments)
  "Wraps the function that COMPILE and EVAL call, which returns a compiled function."
  (let ((values (multiple-value-list (apply function arguments))))
    (add-function (first values))
    (values-list values)))

(defun start ()
  "Writes the map and starts updating it. Returns the number of functions."
  (prog1 (refresh)
    (sb-int:encapsulate 'sb-impl::%defun 'usertrace-map #'after-defun)
    (sb-int:encapsulate 'sb-c:compile-in-lexenv 'usertrace-map #'after-compile)
    (pushnew 'after-gc sb-ext:*after-gc-hooks*)))

(handler-case (start)
  (error (e) (format *error-output* "~&usertrace-map: cannot write the map: ~a~%" e)))
