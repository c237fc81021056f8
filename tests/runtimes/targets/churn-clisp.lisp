;;; SPDX-License-Identifier: MIT
;;; Collects as it allocates, and twice because it is asked to. Says of each collection how much CLISP's own time of
;;; collections grew, in us of processor time: "gc TIME", then "done collections=N".

(defun gc-time-and-count ()
  (destructuring-bind (real-s real-us run-s run-us gc-s gc-us space-high space-low count)
      (multiple-value-list (sys::%%time))
    (declare (ignore real-s real-us run-s run-us space-high space-low))
    (values (+ (* 1000000 gc-s) gc-us) count)))

(defun chain (n)
  (let ((l nil))
    (dotimes (i n l) (setf l (list (make-array 50) (if (zerop (mod i 7)) l nil))))))

(defvar *all* nil)
(defvar *started*)

;;; One piece is collected in once at most.
(defun counted (piece)
  (multiple-value-bind (time count) (gc-time-and-count)
    (funcall piece)
    (multiple-value-bind (time-then count-then) (gc-time-and-count)
      (unless (= count count-then)
        (push (- time-then time) *all*)))))

(format t "ready ~d~%" (os:process-id))
(finish-output)
(read-line)
(setf *started* (nth-value 1 (gc-time-and-count)))
(dotimes (i 400) (counted (lambda () (chain 500))))
(counted #'ext:gc)
(counted #'ext:gc)
(dolist (time (reverse *all*)) (format t "gc ~d~%" time))
(format t "done collections=~d~%" (- (nth-value 1 (gc-time-and-count)) *started*))
(finish-output)
(read-line)
