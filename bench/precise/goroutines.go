// Interfaces, closures, defer and recover, maps, growing stacks, and a second goroutine.
package main

import (
	"fmt"
	"runtime"
	"sort"
)

type shape interface{ area() int }
type square struct{ side int }
type box struct{ width, height int }

//go:noinline
func (s square) area() int { return s.side * s.side }

//go:noinline
func (b *box) area() int { return b.width * b.height }

//go:noinline
func sum(shapes []shape) (total int) {
	for _, one := range shapes {
		total += one.area()
	}
	return
}

//go:noinline
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:noinline
func deep(n int) int {
	var space [64]int
	space[n%64] = n
	if n == 0 {
		return space[0]
	}
	return deep(n-1) + space[n%64]
}

//go:noinline
func guarded(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = 7
		}
	}()
	some := []int{1, 2, 3}
	return some[n%4]
}

func init() { runtime.LockOSThread() }

func main() {
	shapes := []shape{square{3}, &box{2, 5}, square{4}}
	counts := map[string]int{}
	requests, answers := make(chan int), make(chan int)
	go func() {
		for n := range requests {
			answers <- n * 2
		}
	}()
	total := 0
	for i := 0; i < 1000000; i++ {
		total += sum(shapes) + fibonacci(i%6) + deep(i%40) + guarded(i)
		some := []int{i % 7, i % 5, i % 3, i % 11}
		sort.Slice(some, func(a, b int) bool { return some[a] < some[b] })
		counts[fmt.Sprint(i%10)] += total + some[0]
		if i%64 == 0 {
			requests <- i
			total += <-answers
		}
	}
	fmt.Println(total)
}
