;;; SPDX-License-Identifier: MIT
;;; Collects: as it allocates, and when it is asked to. What it says of itself:
;;;
;;;     clock [THREADS]     "gc GENERATION BEGIN LENGTH" of each collection by the program's own clock, in ns; THREADS more
;;;                         threads allocate as well
;;;     count               "gc RUN_TIME" of each: how much *gc-run-time* grew, in us of processor time
;;;
;;; Then "done collections=N version=VERSION".

(declaim (type (simple-array (unsigned-byte 62) (* 3)) *own*) (type fixnum *count*))
(defvar *own* (make-array '(10000 3) :element-type '(unsigned-byte 62) :initial-element 0))
(defvar *count* 0)

(declaim (inline now-ns))
(defun now-ns ()
  (multiple-value-bind (seconds ns) (sb-unix::clock-gettime 1)   ; CLOCK_MONOTONIC
    (declare (type (unsigned-byte 32) seconds ns))
    (+ (* seconds 1000000000) ns)))

(defun note (generation begin length)
  (setf (aref *own* *count* 0) generation (aref *own* *count* 1) begin (aref *own* *count* 2) length)
  (incf *count*))

;;; Around the runtime's function, while the other threads stand still.
(defun clocked (collect generation)
  (declare (function collect))
  (let ((begin (now-ns)))
    (prog1 (funcall collect generation)
      (note generation begin (- (now-ns) begin)))))

(defun chain (n)
  (let ((l nil))
    (dotimes (i n l) (setf l (list (make-array 50) (if (zerop (mod i 7)) l nil))))))

(defun churn () (dotimes (i 400) (chain 1000)))

(defun clock (threads)
  (sb-ext:unlock-package :sb-kernel)
  (sb-int:encapsulate 'sb-kernel::collect-garbage 'clock #'clocked)
  (let ((others (loop repeat threads collect (sb-thread:make-thread #'churn))))
    (churn)
    (mapc #'sb-thread:join-thread others))
  (gc) (gc :gen 1) (gc :full t)
  (sb-int:unencapsulate 'sb-kernel::collect-garbage 'clock)
  (dotimes (i *count*)
    (format t "gc ~d ~d ~d~%" (aref *own* i 0) (aref *own* i 1) (aref *own* i 2))))

;;; One piece allocates less than what is collected for.
(defun counted (piece)
  (let ((epoch sb-kernel::*gc-epoch*) (run *gc-run-time*))
    (funcall piece)
    (unless (eq epoch sb-kernel::*gc-epoch*)
      (note 0 0 (- *gc-run-time* run)))))

(defun count-them ()
  (dotimes (i 400) (counted (lambda () (chain 1000))))
  (counted #'gc)
  (counted (lambda () (gc :full t)))
  (dotimes (i *count*) (format t "gc ~d~%" (aref *own* i 2))))

(setf (bytes-consed-between-gcs) (* 8 1024 1024))
(format t "ready ~d~%" (sb-unix:unix-getpid))
(finish-output)
(read-line)
(if (equal (second *posix-argv*) "count")
    (count-them)
    (clock (parse-integer (or (third *posix-argv*) "0"))))
(format t "done collections=~d version=~a~%" *count* (lisp-implementation-version))
(finish-output)
(read-line)
