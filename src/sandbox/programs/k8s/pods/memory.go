package pods

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// The environment variable that holds the address ranges of the binary's code and constants.
// They are the same in every process, but a process in a root without /proc cannot read them.
const releaseEnv = "SANDBOX_UNLOAD"

// memorySettings returns environment variables that limit the memory use of pods, much of
// which is due to the one binary that contains all programs. The pods' own variables override
// them. Below the limit, garbage is collected rarely, because collecting it is a large part of
// the work of an API server that starts.
func memorySettings() []string {
	env := []string{"GOGC=200", "GOMEMLIMIT=256MiB"}
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
	return append(env, releaseEnv+"="+strings.Join(ranges, ","))
}

// ReleaseMemory releases pages that the initialisers of all the other programs have touched,
// and their garbage. Pages that are needed again are read from the file.
func ReleaseMemory() {
	ranges := os.Getenv(releaseEnv)
	if ranges == "" {
		return
	}
	_ = os.Unsetenv(releaseEnv)
	debug.FreeOSMemory()
	for _, one := range strings.Split(ranges, ",") {
		from, to, _ := strings.Cut(one, "-")
		begin, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(begin), uintptr(end-begin), syscall.MADV_DONTNEED)
	}
}
