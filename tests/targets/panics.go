// SPDX-License-Identifier: MIT
// Goroutines whose stacks move while functions are traced, and functions that are left by a panic.
package main

import "sync"

//go:noinline
func leaf(n int) int { return n * 2 }

//go:noinline
func deep(n int) int {
	var room [100]int
	room[n%100] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + 1 + room[(n+1)%100]
}

//go:noinline
func bad(n int) int {
	if n%3 == 0 {
		panic("third")
	}
	return leaf(n)
}

//go:noinline
func safe(n int) (ret int) {
	defer func() {
		if recover() != nil {
			ret = -1
		}
	}()
	return bad(n)
}

func main() {
	var all sync.WaitGroup
	for t := 0; t < 4; t++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 30; i++ {
				safe(i)
			}
			deep(300)
		}()
	}
	all.Wait()
}
