package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/connrotation"
)

// unreachable is the reason of what passes when a server has started.
const unreachable = "GuestUnreachable"

// guest is the inside of one machine, from its start to its end.
type guest struct {
	all *guests
	vmi *unstructured.Unstructured
	// The root disk: a folder that outlives the VMI.
	root    string
	address string
	ctx     context.Context
	cancel  context.CancelFunc
	console *os.File
	log     logr.Logger
	// All its connections to the outside, and those of them that are kubelet's.
	line, own *connrotation.Dialer
	node      *node
	// Its clock was wrong when it was last looked at.
	wrong bool

	lock  sync.Mutex
	told  map[string]time.Time
	noted map[string]string
}

// newGuest switches a machine on; nothing when there is no room for its files.
func newGuest(ctx context.Context, all *guests, vmi *unstructured.Unstructured) *guest {
	ctx, cancel := context.WithCancel(ctx)
	g := &guest{all: all, vmi: vmi, ctx: ctx, cancel: cancel, told: map[string]time.Time{}, noted: map[string]string{}}
	g.address = address(vmi)
	uid := vmi.GetUID()
	if owner := metav1.GetControllerOf(vmi); owner != nil {
		uid = owner.UID
	}
	g.root = filepath.Join(all.folder, disk(vmi.GetNamespace(), vmi.GetName(), uid))
	_ = os.MkdirAll(all.logs, 0o700)
	console, err := os.OpenFile(filepath.Join(all.logs, vmi.GetName()+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		cancel()
		return nil
	}
	g.console = console
	g.log = logr.New(&journal{g})
	g.line = connrotation.NewDialer(g.dial)
	g.own = connrotation.NewDialer(g.line.DialContext)
	return g
}

// run boots: cloud-init, then kubelet. Each gives up as it would in a guest.
func (g *guest) run() {
	defer func() {
		// One machine's end must not be that of all.
		if panicked := recover(); panicked != nil {
			g.warn("KubeletFailed", fmt.Errorf("kubelet.service: panic: %v", panicked))
		}
	}()
	for g.all.sim.faults.matches("guest-boot", g.vmi.GetName()) {
		if !g.wait(time.Second) {
			return
		}
	}
	g.say("booting")
	err := g.cloudInit()
	if errors.Is(err, errNoSource) {
		g.say("cloud-init: " + err.Error())
		return
	}
	if err != nil {
		g.warn("CloudInitFailed", fmt.Errorf("cloud-init: %w", err))
		return
	}
	if !g.isNode() {
		g.say("cloud-init: nothing of a kubelet here; this machine is no node")
		return
	}
	settings, err := g.settings()
	if err != nil {
		g.warn("KubeletFailed", fmt.Errorf("kubelet.service: %w", err))
		return
	}
	if err := g.kubelet(settings); err != nil && g.ctx.Err() == nil {
		g.warn("KubeletFailed", fmt.Errorf("kubelet.service: %w", err))
	}
}

func (g *guest) shutdown() {
	g.say("shutting down")
	if g.node != nil {
		g.node.shutdown()
	}
	g.cancel()
	g.line.CloseAll()
	_ = g.console.Close()
}

// isNode tells whether the machine was given anything of a kubelet.
func (g *guest) isNode() bool {
	for _, path := range []string{"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/etc/kubernetes/bootstrap-kubelet.conf"} {
		if g.has(path) {
			return true
		}
	}
	return false
}

// say writes a line to the console.
func (g *guest) say(text string) {
	_, _ = fmt.Fprintf(g.console, "%s %s\n", time.Now().UTC().Format(time.RFC3339), strings.TrimSpace(text))
}

// note says something about a thing, unless that is what it said last.
func (g *guest) note(thing, text string) {
	g.lock.Lock()
	known := g.noted[thing] == text
	g.noted[thing] = text
	g.lock.Unlock()
	if !known && text != "" {
		g.say(text)
	}
}

// warn tells what went wrong, on the console each time and on the VMI once,
// by an Event.
func (g *guest) warn(reason string, err error) {
	g.say("error: " + err.Error())
	// Times and numbers in it are nothing new.
	what := reason + strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	// A server that is only just starting is no news; one that stays away is.
	patience := 5 * time.Second
	if reason != unreachable || strings.Contains(err.Error(), "x509: ") {
		patience = 0
	}
	g.lock.Lock()
	first, known := g.told[what]
	if !known {
		first = time.Now()
		g.told[what] = first
	}
	due := !first.IsZero() && time.Since(first) >= patience
	if due {
		g.told[what] = time.Time{}
	}
	g.lock.Unlock()
	if due && g.ctx.Err() == nil {
		g.all.event(g.vmi, "Warning", reason, err.Error())
	}
}

// wait is false when the machine ends meanwhile.
func (g *guest) wait(pause time.Duration) bool {
	select {
	case <-g.ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// at is where a file of the guest lies.
func (g *guest) at(path string) string {
	return filepath.Join(g.root, filepath.Clean("/"+path))
}

func (g *guest) read(path string) ([]byte, error) {
	data, err := os.ReadFile(g.at(path))
	var failed *os.PathError
	if errors.As(err, &failed) {
		failed.Path = path
	}
	return data, err
}

func (g *guest) has(path string) bool {
	_, err := os.Stat(g.at(path))
	return err == nil
}

// address is that of the interface with the name that the cloud controller
// manager looks for, or else of the first one.
func address(vmi *unstructured.Unstructured) string {
	shown, _, _ := unstructured.NestedSlice(vmi.Object, "status", "interfaces")
	first := ""
	for _, one := range shown {
		fields, _ := one.(map[string]any)
		ip, _ := fields["ipAddress"].(string)
		if fields["name"] == "default" {
			return ip
		}
		if first == "" {
			first = ip
		}
	}
	return first
}

// journal is what libraries of kubelet log, on the console.
type journal struct{ guest *guest }

func (j *journal) Init(logr.RuntimeInfo)             {}
func (j *journal) Enabled(level int) bool            { return level == 0 }
func (j *journal) Info(_ int, text string, _ ...any) { j.guest.say("kubelet: " + text) }
func (j *journal) WithValues(...any) logr.LogSink    { return j }
func (j *journal) WithName(string) logr.LogSink      { return j }

func (j *journal) Error(err error, text string, _ ...any) {
	j.guest.say(fmt.Sprintf("kubelet: %s: %v", text, err))
}
