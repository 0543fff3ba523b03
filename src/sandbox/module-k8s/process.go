package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a container's process, from its start to its end.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	// Where its lines begin in the container's log.
	offset int64
	// These hold once done is closed.
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

// start runs a program of the root folder with exactly these arguments. What it
// prints goes to the end of the log.
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

// confined gives a process a folder as its root. Who is not root needs a user
// namespace for that.
func confined(root string) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Chroot: root, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// exitCode is what a container runtime would tell: 128 and the number of the
// signal, if one ended it.
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
