; SPDX-License-Identifier: MIT
; Chez Scheme: makes garbage until it has collected so often; what it counts itself of each collection.
;
;     scheme --script churn.ss 50          waits for a line before it begins and before it ends
;
; "gc REAL-NS GENERATION" is a collection: what the runtime added to its own (sstats-gc-real (statistics)) for it.
(define wanted (string->number (cadr (command-line))))
(define (nanoseconds t) (+ (* 1000000000 (time-second t)) (time-nanosecond t)))
(define (gc-real) (nanoseconds (sstats-gc-real (statistics))))

(define log '())
(define kept '())

; What the built-in handler does: every 4th collection of a generation is one of the next as well.
(define (generation-of n)
  (let loop ((g 0) (n n))
    (if (and (zero? (mod n 4)) (< g 3)) (loop (+ g 1) (div n 4)) g)))
(define number 0)

(define (collect-and-note)
  (set! number (+ number 1))
  (let ((before (gc-real)) (count (collections)) (generation (generation-of number)))
    (collect generation (min (+ generation 1) 3))
    (unless (= (collections) (+ count 1)) (error 'churn "not one collection" (collections) count))
    (set! log (cons (cons (- (gc-real) before) generation) log))))

(define (churn end)
  (let loop ((i 0))
    (when (< (collections) end)
      (let ((l (iota 100)))
        (when (zero? (mod i 3))
          (set! kept (cons l (if (zero? (mod i 60000)) '() kept)))))
      (loop (+ i 1)))))

(define (say . words)
  (for-each display words)
  (newline)
  (flush-output-port))

(collect-request-handler collect-and-note)
(collect-trip-bytes (* 16 1024 1024))
(define getpid (begin (load-shared-object "libc.so.6") (foreign-procedure "getpid" () int)))
(say "ready " (getpid))
(get-line (current-input-port))
(set! log '())
(define before (collections))
(churn (+ before wanted))
(define after (collections))
(collect-request-handler void)
(for-each (lambda (entry) (say "gc " (car entry) " " (cdr entry))) (reverse log))
(say "done collections=" (- after before) " noted=" (length log))
(get-line (current-input-port))
