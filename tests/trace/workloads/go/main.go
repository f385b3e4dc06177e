// A Go program makes its system calls itself, from many threads.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func prepare() {
	for i := 0; i < 20; i++ {
		check(os.WriteFile(fmt.Sprintf("in-%d", i), []byte("hello"), 0o644))
	}
}

func copyFile(i int, group *sync.WaitGroup) {
	defer group.Done()
	data, err := os.ReadFile(fmt.Sprintf("in-%d", i))
	check(err)
	check(os.WriteFile(fmt.Sprintf("out-%d", i), data, 0o644))
}

func act() {
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go copyFile(i, &group)
	}
	group.Wait()
	check(os.Rename("out-0", "renamed"))
	check(os.Remove("out-1"))
	check(exec.Command(os.Args[0], "child").Run())

	fmt.Println("input in-0\ninput in-1\noutput renamed\ntemporary out-1")
	for i := 2; i < 20; i++ {
		fmt.Printf("input in-%d\noutput out-%d\n", i, i)
	}
	fmt.Println("output child")
}

func main() {
	switch {
	case len(os.Args) < 2:
		act()
	case os.Args[1] == "prepare":
		prepare()
	default:
		check(os.WriteFile("child", nil, 0o644))
	}
}
