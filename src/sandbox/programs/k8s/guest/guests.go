// Package guest runs what is inside of machines: each running VMI boots, does what its
// cloud-init data describes, and joins its shoot as a node.
package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kvshoot.io/sandbox/kubernetes/faults"
	"kvshoot.io/sandbox/kubernetes/guest/cloudinit"
	"kvshoot.io/sandbox/kubernetes/guest/kubelet"
	"kvshoot.io/sandbox/kubernetes/guest/kubeletconfig"
	"kvshoot.io/sandbox/kubernetes/guest/machine"
	"kvshoot.io/sandbox/kubernetes/guest/qemu"
)

var (
	vms  = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
	vmis = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
)

// Guests are the insides of all running machines.
type Guests struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	faults  *faults.Faults
	// Folders of the machines' disks and consoles.
	disks, consoles string
	network         machine.Network
	row             int
	// Nil if all machines are simulated.
	host *qemu.Host

	lock    sync.Mutex
	running map[types.UID]inside
	// Virtual machines that are shutting down.
	ending map[types.UID]bool
}

// inside is what runs in a machine.
type inside interface {
	// run returns once the machine has ended.
	run()
	// applyFaults is called every second.
	applyFaults()
	// shutdown ends the machine, and returns once it has ended.
	shutdown()
}

// guest is the simulated inside of one machine.
type guest struct {
	machine *machine.Machine
	// Its clock was wrong at the last check.
	clockWrong bool
	lock       sync.Mutex
	node       *kubelet.Node
}

// New returns guests whose files are next to the kubeconfig, for the sandbox of a row. Those for which the host has room
// are virtual machines; without a host, all are simulated.
func New(client kubernetes.Interface, dynamic dynamic.Interface, faults *faults.Faults, kubeconfig string, row int, host *qemu.Host) *Guests {
	return &Guests{
		client: client, dynamic: dynamic, faults: faults,
		disks: filepath.Join(folderOf(kubeconfig), "guests"), consoles: Consoles(kubeconfig),
		row: row, host: host, running: map[types.UID]inside{}, ending: map[types.UID]bool{},
	}
}

// Consoles returns the folder with a file for the serial console of each machine.
func Consoles(kubeconfig string) string {
	return filepath.Join(folderOf(kubeconfig), "logs", "guests")
}

func folderOf(kubeconfig string) string {
	folder, err := filepath.Abs(filepath.Dir(kubeconfig))
	if err != nil {
		return "."
	}
	return folder
}

// Follow starts a guest for each running VMI and stops it with the VMI.
func (gs *Guests) Follow(ctx context.Context, informer cache.SharedIndexInformer) {
	update := func(object any) {
		vmi, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
		if phase == "Running" && vmi.GetDeletionTimestamp() == nil {
			gs.start(ctx, vmi)
		} else {
			gs.stop(vmi.GetUID())
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    update,
		UpdateFunc: func(_, object any) { update(object) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if vmi, ok := object.(*unstructured.Unstructured); ok {
				gs.stop(vmi.GetUID())
				go gs.deleteDisk(ctx, vmi)
			}
		},
	})
	go gs.applyFaults(ctx)
}

func (gs *Guests) start(ctx context.Context, vmi *unstructured.Unstructured) {
	gs.lock.Lock()
	defer gs.lock.Unlock()
	if gs.running[vmi.GetUID()] != nil {
		return
	}
	uid := vmi.GetUID()
	if owner := metav1.GetControllerOf(vmi); owner != nil {
		uid = owner.UID
	}
	_ = os.MkdirAll(gs.consoles, 0o700)
	console, err := os.OpenFile(filepath.Join(gs.consoles, vmi.GetName()+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	m := machine.New(ctx, machine.Config{
		VMI: vmi, Root: filepath.Join(gs.disks, diskName(vmi, uid)), Console: console,
		Client: gs.client, Faults: gs.faults, Network: &gs.network, Row: gs.row,
	})
	one := gs.inside(m)
	gs.running[vmi.GetUID()] = one
	go one.run()
}

// inside returns what is to run in a machine.
func (gs *Guests) inside(m *machine.Machine) inside {
	if gs.host == nil {
		return &guest{machine: m}
	}
	return newVirtual(gs, m)
}

func (gs *Guests) stop(uid types.UID) {
	gs.lock.Lock()
	defer gs.lock.Unlock()
	one := gs.running[uid]
	delete(gs.running, uid)
	if one == nil {
		return
	}
	gs.ending[uid] = isReal(one)
	go func() {
		one.shutdown()
		gs.lock.Lock()
		defer gs.lock.Unlock()
		delete(gs.ending, uid)
	}()
}

// IsEnding reports whether a machine that is deleted is a virtual machine that has not ended yet.
func (gs *Guests) IsEnding(uid types.UID) bool {
	gs.lock.Lock()
	defer gs.lock.Unlock()
	return gs.ending[uid] || isReal(gs.running[uid])
}

func isReal(one inside) bool {
	virtual, ok := one.(*virtual)
	return ok && virtual.isReal()
}

// applyFaults makes faults take effect, and ends their effect.
func (gs *Guests) applyFaults(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		gs.lock.Lock()
		running := slices.Collect(maps.Values(gs.running))
		gs.lock.Unlock()
		for _, one := range running {
			one.applyFaults()
		}
	}
}

// deleteDisk removes the disk once the VM is deleted. A restart keeps it.
func (gs *Guests) deleteDisk(ctx context.Context, vmi *unstructured.Unstructured) {
	for {
		vm, err := gs.dynamic.Resource(vms).Namespace(vmi.GetNamespace()).Get(ctx, vmi.GetName(), metav1.GetOptions{})
		if err == nil && vm.GetDeletionTimestamp() == nil {
			return
		}
		if apierrors.IsNotFound(err) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	entries, _ := os.ReadDir(gs.disks)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), diskName(vmi, "")) {
			_ = os.RemoveAll(filepath.Join(gs.disks, entry.Name()))
		}
	}
}

// diskName returns the folder of a disk. The UID distinguishes VMs that had the same name.
func diskName(vmi *unstructured.Unstructured, uid types.UID) string {
	return vmi.GetNamespace() + "_" + vmi.GetName() + "_" + string(uid)
}

// applyFaults closes connections that were open when a fault began; new ones fail anyway.
func (g *guest) applyFaults() {
	wrong := g.machine.ClockWrong()
	if g.machine.Disconnected() != nil || wrong && !g.clockWrong {
		g.machine.Line.CloseAll()
	}
	g.clockWrong = wrong
}

// run boots: cloud-init first, then kubelet. Each gives up where it would in a real guest.
func (g *guest) run() {
	m := g.machine
	defer func() {
		// A panic in one machine must not end the others.
		if panicked := recover(); panicked != nil {
			m.Warn("KubeletFailed", fmt.Errorf("kubelet.service: panic: %v", panicked))
		}
	}()
	m.Print("firmware: loading from disk")
	for m.Faults.Matches("guest-boot", m.Name()) {
		if !m.Wait(time.Second) {
			return
		}
	}
	m.Print("booting")
	err := cloudinit.Run(m)
	if errors.Is(err, cloudinit.ErrNoSource) {
		m.Print("cloud-init: " + err.Error())
		return
	}
	if err != nil {
		m.Warn("CloudInitFailed", fmt.Errorf("cloud-init: %w", err))
		return
	}
	if !kubeletconfig.Exists(m) {
		m.Print("cloud-init: no kubelet configuration found; this machine is not a node")
		return
	}
	settings, err := kubeletconfig.Load(m)
	if err != nil {
		m.Warn("KubeletFailed", fmt.Errorf("kubelet.service: %w", err))
		return
	}
	if err := g.runKubelet(settings); err != nil && m.Context.Err() == nil {
		m.Warn("KubeletFailed", fmt.Errorf("kubelet.service: %w", err))
	}
}

func (g *guest) runKubelet(settings *kubeletconfig.Settings) error {
	node, err := kubelet.New(g.machine, settings)
	if err != nil {
		return err
	}
	g.lock.Lock()
	g.node = node
	g.lock.Unlock()
	return node.Run()
}

func (g *guest) shutdown() {
	g.machine.Print("shutting down")
	g.lock.Lock()
	node := g.node
	g.lock.Unlock()
	if node != nil {
		node.Shutdown()
	}
	g.machine.Stop()
}
