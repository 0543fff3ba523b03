// Package machine is the hardware of a running machine: its disk, console, clock and network.
package machine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/faults"
)

// Unreachable is the reason of warnings that end once a server has started.
const Unreachable = "GuestUnreachable"

// Config is what a machine gets from its provider cluster.
type Config struct {
	VMI *unstructured.Unstructured
	// Root is the folder of the root disk. It may outlive the VMI.
	Root    string
	Console *os.File
	// Client of the provider cluster.
	Client  kubernetes.Interface
	Faults  *faults.Faults
	Network *Network
	// Row of loopback addresses of the sandbox.
	Row int
}

// Machine is one machine, from its start to its end.
type Machine struct {
	Config
	// Address of the machine in the shoot.
	Address string
	Context context.Context
	// Logger writes to the console what kubelet's libraries log.
	Logger logr.Logger
	// Line dials all connections to the outside; KubeletLine those of them that are kubelet's.
	Line, KubeletLine *connrotation.Dialer
	cancel            context.CancelFunc

	lock sync.Mutex
	// When each warning first occurred; zero once it was reported as an Event.
	warned map[string]time.Time
	// The last text that was printed about a subject.
	printed map[string]string
}

// New switches a machine on.
func New(ctx context.Context, config Config) *Machine {
	ctx, cancel := context.WithCancel(ctx)
	m := &Machine{
		Config: config, Address: address(config.VMI), Context: ctx, cancel: cancel,
		warned: map[string]time.Time{}, printed: map[string]string{},
	}
	m.Logger = logr.New(&journal{m})
	m.Line = connrotation.NewDialer(m.dial)
	m.KubeletLine = connrotation.NewDialer(m.Line.DialContext)
	return m
}

// Name returns the name of the VMI.
func (m *Machine) Name() string { return m.VMI.GetName() }

// Stop switches the machine off and closes its connections.
func (m *Machine) Stop() {
	m.cancel()
	m.Line.CloseAll()
	_ = m.Console.Close()
}

// Wait pauses; it returns false if the machine was switched off meanwhile.
func (m *Machine) Wait(pause time.Duration) bool {
	select {
	case <-m.Context.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// Print writes a line to the console.
func (m *Machine) Print(text string) {
	_, _ = fmt.Fprintf(m.Console, "%s %s\n", time.Now().UTC().Format(time.RFC3339), strings.TrimSpace(text))
}

// PrintChange prints a text about a subject, unless it is empty or was the last one about it.
func (m *Machine) PrintChange(subject, text string) {
	m.lock.Lock()
	known := m.printed[subject] == text
	m.printed[subject] = text
	m.lock.Unlock()
	if !known && text != "" {
		m.Print(text)
	}
}

// Warn prints an error each time, and reports it once as an Event of the VMI.
func (m *Machine) Warn(reason string, err error) {
	m.Print("error: " + err.Error())
	// Times and numbers do not make it another error.
	key := reason + strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	// A server that is still starting is not worth an Event; one that stays away is.
	delay := 5 * time.Second
	if reason != Unreachable || strings.Contains(err.Error(), "x509: ") {
		delay = 0
	}
	m.lock.Lock()
	first, known := m.warned[key]
	if !known {
		first = time.Now()
		m.warned[key] = first
	}
	due := !first.IsZero() && time.Since(first) >= delay
	if due {
		m.warned[key] = time.Time{}
	}
	m.lock.Unlock()
	if due && m.Context.Err() == nil {
		m.event(reason, err.Error())
	}
}

// event creates an Event of the VMI, since users may not be able to read the console.
func (m *Machine) event(reason, message string) {
	now := metav1.Now()
	vmi := m.VMI
	event := &v1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: vmi.GetName() + ".", Namespace: vmi.GetNamespace()},
		InvolvedObject: v1.ObjectReference{
			APIVersion: vmi.GetAPIVersion(), Kind: vmi.GetKind(), Namespace: vmi.GetNamespace(), Name: vmi.GetName(), UID: vmi.GetUID(),
		},
		Type: v1.EventTypeWarning, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: v1.EventSource{Component: "guest"}, ReportingController: "sandbox.kvshoot.io/guest", ReportingInstance: vmi.GetName(),
	}
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	if _, err := m.Client.CoreV1().Events(vmi.GetNamespace()).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		klog.ErrorS(err, "cannot write the event", "vmi", vmi.GetName(), "reason", reason)
	}
}

// address returns the address of the interface that the cloud controller manager looks for,
// or else of the first one.
func address(vmi *unstructured.Unstructured) string {
	interfaces, _, _ := unstructured.NestedSlice(vmi.Object, "status", "interfaces")
	first := ""
	for _, one := range interfaces {
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

// journal prints what kubelet's libraries log.
type journal struct{ machine *Machine }

func (j *journal) Init(logr.RuntimeInfo)             {}
func (j *journal) Enabled(level int) bool            { return level == 0 }
func (j *journal) Info(_ int, text string, _ ...any) { j.machine.Print("kubelet: " + text) }
func (j *journal) WithValues(...any) logr.LogSink    { return j }
func (j *journal) WithName(string) logr.LogSink      { return j }

func (j *journal) Error(err error, text string, _ ...any) {
	j.machine.Print(fmt.Sprintf("kubelet: %s: %v", text, err))
}
