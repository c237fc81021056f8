;;;; SPDX-License-Identifier: MIT
;;;; A perf map of SBCL's compiled code, so that profilers know its functions by name: /tmp/perf-PID.map. One file to
;;;; copy, which needs nothing. Made with SBCL 2.2.9, for x86-64; the map of a plain image has 60,000 lines and 3 MB.
;;;;
;;;;     $ sbcl --load usertrace-map.lisp --load program.lisp
;;;;
;;;; Loading it writes the map and keeps it up. What DEFUN, COMPILE and EVAL make is added at once; all other new code, and
;;;; code that the collector moved, after a collection, once a second at most: to look takes some 0.1 s.
;;;; (usertrace-map:refresh) looks at once, as after loading a big system; (usertrace-map:stop) ends it. The file stays for
;;;; the profiler: `usertrace map --clean` removes those of processes that are gone.

(require :sb-posix)
(defpackage :usertrace-map
  (:use :cl)
  (:export #:refresh #:start #:stop #:*interval*))
(in-package :usertrace-map)

(defvar *interval* 1 "Seconds that must pass before a collection makes the map be looked at again.")
(defvar *lock* (sb-thread:make-mutex :name "usertrace-map"))
(defvar *file* nil "The map's descriptor.")
(defvar *pid* nil "Whose map that is: a child of fork has its own.")
(defvar *written* (make-hash-table) "Where functions are as the map has it: by address, (size . name).")
(defvar *next* 0 "When a collection makes the map be looked at again, in internal time.")

;;; Names

(defun clean (name)
  "NAME as one line of 500 characters at most."
  (let ((end (min (length name) 500)))
    (concatenate 'string
                 (map 'string (lambda (c) (if (or (< (char-code c) 32) (<= 127 (char-code c) 159)) #\? c))
                      (subseq name 0 end))
                 (if (< end (length name)) "..." ""))))

(defun printed (name)
  "NAME, a symbol or a list such as (FLET INNER :IN OUTER), with the packages that CL-USER does not use."
  (handler-case
      (with-standard-io-syntax
        (let ((*print-readably* nil) (*print-level* 4) (*print-length* 8) (*print-pretty* nil))
          (clean (if (stringp name) name (prin1-to-string name)))))
    (error () "[no name]")))

;;; What is where. A code object has several functions, and begins with constants; SBCL's debugger knows them all. The
;;; object is pinned by the caller.

(defun each-debug-function (code report)
  "Calls REPORT with the name of each function, where it begins in the code and where it ends. False: there are none."
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
  "The same for the routines in assembler that all code calls."
  (let ((table (sb-kernel:%code-debug-info code)))
    (when (consp table)
      (setf table (car table)))
    (when (hash-table-p table)
      (maphash (lambda (name place)
                 (when (and (consp place) (integerp (car place)))
                   (funcall report (format nil "~(~a~) [assembler]" name) (car place)
                            (1+ (if (consp (cdr place)) (cadr place) (cdr place))))))
               table)
      t)))

(defun each-entry (code report)
  "The same by what can be called from outside, when the debugger knows nothing."
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
  "Notes a function in SEEN, and writes it if the map does not say so yet."
  (let ((old (gethash address *written*)))
    (when (plusp size)
      (cond ((and old (= (car old) size) (equal (cdr old) name))
             (setf (gethash address seen) old))
            (t
             (setf (gethash address seen) (cons size name))
             (format stream "~(~x ~x~) ~a~%" address size (printed name)))))))

(defun lines-of (code seen stream)
  "The functions of a code object."
  (sb-sys:with-pinned-objects (code)
    (let ((base (sb-sys:sap-int (sb-kernel:code-instructions code))))
      (flet ((report (name begin end)
               (note (+ base begin) (- end begin) name seen stream)))
        (or (handler-case (each-debug-function code #'report) (error () nil))
            (handler-case (each-routine code #'report) (error () nil))
            (each-entry code #'report))))))

(defun lines-of-links (seen stream)
  "What is called by its name is called through an object that jumps to it, and so are generic functions. Such objects
do not move."
  (flet ((note-all (type name-of words)
           (dolist (object (ignore-errors (sb-vm:list-allocated-objects :immobile :type type)))
             (note (logandc2 (sb-kernel:get-lisp-obj-address object) 15) (* 8 words)
                   (list :link (ignore-errors (funcall name-of object))) seen stream))))
    (note-all sb-vm:fdefn-widetag #'sb-kernel:fdefn-name sb-vm:fdefn-size)
    (note-all sb-vm:funcallable-instance-widetag #'sb-kernel:%fun-name 4)))

(defun lines ()
  "What the map does not say yet, as one text. What is not where it was is forgotten: others may come there."
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
  "The map of this process, with all that is known. It is made beside its place and put there when it is whole: what lay
there is not written to, be it a link or another user's file."
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

(defun look ()
  "Adds what is new since the last time. Returns the number of functions that there are."
  (sb-thread:with-recursive-lock (*lock*)
    (let ((epoch sb-kernel::*gc-epoch*))
      (cond ((not *file*) (open-new))
            ((/= *pid* (sb-posix:getpid)) (sb-posix:close *file*) (setf *file* nil) (open-new))
            (t (write-all *file* (lines))))
      ;; What was collected meanwhile may have moved behind our back.
      (loop repeat 5
            until (eq epoch sb-kernel::*gc-epoch*)
            do (setf epoch sb-kernel::*gc-epoch*)
               (write-all *file* (lines))))
    (setf *next* (+ (get-internal-real-time) (* *interval* internal-time-units-per-second)))
    (hash-table-count *written*)))

(defun refresh ()
  "The same with the newest code, which SBCL lists after a collection only."
  (sb-ext:gc)
  (look))

;;; Keeping it up

(defun stop ()
  (sb-int:unencapsulate 'sb-impl::%defun 'usertrace-map)
  (sb-int:unencapsulate 'sb-c:compile-in-lexenv 'usertrace-map)
  (setf sb-ext:*after-gc-hooks* (remove 'after-gc sb-ext:*after-gc-hooks*))
  (sb-thread:with-recursive-lock (*lock*)
    (when *file*
      (ignore-errors (sb-posix:close *file*))
      (setf *file* nil))))

(defmacro or-end (&body body)
  "An error in the body, as of a full disk, ends the map and not the program."
  `(handler-case (progn ,@body)
     (error (e)
       (stop)
       (format *error-output* "~&usertrace-map: the map is not kept up any more: ~a~%" e))))

(defun after-gc ()
  (when (and *file* (>= (get-internal-real-time) *next*) (not (sb-thread:holding-mutex-p *lock*)))
    (or-end (look))))

(defun announce (function &optional (link nil named))
  "Adds one function's code, and what jumps to it."
  (when (and *file* (typep function 'compiled-function))
    (or-end
      (sb-thread:with-recursive-lock (*lock*)
        (write-all *file*
                   (with-output-to-string (stream)
                     (when (and named (< (sb-kernel:get-lisp-obj-address link) sb-vm:dynamic-space-start))
                       (note (logandc2 (sb-kernel:get-lisp-obj-address link) 15) (* 8 sb-vm:fdefn-size)
                             (list :link (sb-kernel:fdefn-name link)) *written* stream))
                     (lines-of (sb-kernel:fun-code-header (sb-kernel:%fun-fun function)) *written* stream)))))))

(defun after-defun (function name definition &rest more)
  "Around what DEFUN calls with a name and a compiled function."
  (multiple-value-prog1 (apply function name definition more)
    (announce definition (sb-int:find-fdefn name))))

(defun after-compile (function &rest arguments)
  "Around what COMPILE and EVAL call, which returns a compiled function."
  (let ((values (multiple-value-list (apply function arguments))))
    (announce (first values))
    (values-list values)))

(defun start ()
  "Writes the map and keeps it up. Returns the number of functions."
  (prog1 (refresh)
    (sb-int:encapsulate 'sb-impl::%defun 'usertrace-map #'after-defun)
    (sb-int:encapsulate 'sb-c:compile-in-lexenv 'usertrace-map #'after-compile)
    (pushnew 'after-gc sb-ext:*after-gc-hooks*)))

(handler-case (start)
  (error (e) (format *error-output* "~&usertrace-map: there is no map: ~a~%" e)))
