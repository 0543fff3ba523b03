package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Where the binary's code and constants are in memory: the same in every process,
// which cannot ask itself in a root without /proc.
const unloadKey = "SANDBOX_UNLOAD"

// thrift makes the programs of pods take less memory: much of it is of the one
// binary that all programs are here. It is the sandbox's, not the pods': what they
// set themselves goes before it.
func thrift() []string {
	env := []string{"GOGC=50"}
	program, err := os.Executable()
	if err != nil {
		return env
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return env
	}
	ranges := []string{}
	for _, line := range strings.Split(string(maps), "\n") {
		// Such as: 00400000-03a1b000 r-xp 00000000 fe:00 1234    /path
		fields := strings.Fields(line)
		if len(fields) == 6 && fields[5] == program && !strings.Contains(fields[1], "w") {
			ranges = append(ranges, fields[0])
		}
	}
	return append(env, unloadKey+"="+strings.Join(ranges, ","))
}

// unload gives back what the start has taken: pages that the initialisers of all
// the other programs have touched, and their garbage. What is needed again comes
// back from the file.
func unload() {
	ranges := os.Getenv(unloadKey)
	if ranges == "" {
		return
	}
	_ = os.Unsetenv(unloadKey)
	debug.FreeOSMemory()
	for _, one := range strings.Split(ranges, ",") {
		from, to, _ := strings.Cut(one, "-")
		begin, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(begin), uintptr(end-begin), syscall.MADV_DONTNEED)
	}
}
