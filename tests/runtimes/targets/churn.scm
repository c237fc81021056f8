; SPDX-License-Identifier: MIT
; Guile: makes garbage until it has collected so often; how often it counted itself.
;
;     guile --no-auto-compile churn.scm 20          waits for a line before it begins and before it ends
(use-modules (ice-9 rdelim))

(define (times) (assq-ref (gc-stats) 'gc-times))
(define wanted (string->number (cadr (command-line))))
(define kept '())

(define (churn end)
  (let loop ((i 0))
    (if (or (positive? (modulo i 1000)) (< (times) end))
        (let ((v (make-vector 50 i)))
          (if (zero? (modulo i 20))
              (set! kept (cons v kept)))
          (loop (+ i 1))))))

(define (say . words)
  (for-each display words)
  (newline)
  (force-output))

(say "ready " (getpid))
(read-line)
(define before (times))
(churn (+ before wanted))
(say "done times=" (- (times) before))
(read-line)
