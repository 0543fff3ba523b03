package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// moved is how many seconds the clock of the sandbox is ahead, in a file that all of its programs
// map; nil in other programs.
var moved = mapMoved()

// mapMoved maps the file, so that a read costs no system call. It has at least eight bytes from
// before the first program starts until after the last one ends.
func mapMoved() *int64 {
	path, _ := syscall.Getenv("KVSHOOT_SANDBOX_CLOCK")
	if path == "" {
		return nil
	}
	file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(file)
	memory, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(unsafe.SliceData(memory)))
}

// movedSeconds is added to the seconds since 1970, but not to the monotonic clock: that measures
// durations, which do not change when somebody sets a clock.
func movedSeconds() int64 {
	if moved == nil {
		return 0
	}
	return atomic.LoadInt64(moved)
}
