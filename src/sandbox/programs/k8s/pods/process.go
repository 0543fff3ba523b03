package pods

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a process of a container.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	// Offset of its output in the container's log.
	offset int64
	// ended and code are set once done is closed.
	done  chan struct{}
	ended time.Time
	code  int32
}

// launcher starts processes. A child is killed when the thread that started it
// ends, so one thread that never ends starts them all.
type launcher chan func()

func newLauncher() launcher {
	l := make(launcher)
	go func() {
		runtime.LockOSThread()
		for start := range l {
			start()
		}
	}()
	return l
}

// start runs a program inside the root folder with exactly these arguments, and appends its
// output to the log.
func (l launcher) start(root, program, workingDir string, argv, env []string, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{done: make(chan struct{})}
	if info, err := out.Stat(); err == nil {
		p.offset = info.Size()
	}
	p.cmd = &exec.Cmd{Path: program, Args: argv, Env: env, Dir: workingDir, Stdout: out, Stderr: out, SysProcAttr: confined(root)}
	failed := make(chan error)
	l <- func() { failed <- p.cmd.Start() }
	if err := <-failed; err != nil {
		return nil, err
	}
	p.started = time.Now()
	go func() {
		_ = p.cmd.Wait()
		p.ended = time.Now()
		p.code = exitCode(p.cmd.ProcessState)
		close(p.done)
	}()
	return p, nil
}

// confined gives a process a folder as its root. Without privileges this takes a user
// namespace.
func confined(root string) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Chroot: root, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// exitCode returns the code that a container runtime reports: for a signal, 128 plus its
// number.
func exitCode(state *os.ProcessState) int32 {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(state.ExitCode())
}

func (p *process) signal(signal syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, signal)
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}
