package guest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"kvshoot.io/sandbox/kubernetes/guest/machine"
	"kvshoot.io/sandbox/kubernetes/guest/qemu"
	"kvshoot.io/sandbox/kubernetes/network"
)

// Time to shut down if the machine does not say another one.
const defaultGrace = 30 * time.Second

// virtual is a machine that becomes a virtual machine if the host has room, and is simulated otherwise.
type virtual struct {
	guests  *Guests
	machine *machine.Machine

	lock sync.Mutex
	// One of them is set once it is decided.
	vm        *qemu.VM
	simulated *guest
	stopped   bool
	// Its network cards are disconnected.
	disconnected bool
}

func newVirtual(gs *Guests, m *machine.Machine) *virtual { return &virtual{guests: gs, machine: m} }

func (v *virtual) run() {
	m := v.machine
	if !v.guests.host.Take(m.Root) {
		v.guests.reportAgent(m, Simulated)
		v.lock.Lock()
		v.simulated = &guest{machine: m}
		v.lock.Unlock()
		v.simulated.run()
		return
	}
	defer v.guests.host.Give(m.Root)
	for m.Faults.Matches("guest-boot", m.Name()) {
		if !m.Wait(time.Second) {
			return
		}
	}
	attachments, err := network.Attachments(m.Context, v.guests.dynamic, m.VMI)
	if err != nil {
		m.Warn("MachineFailed", err)
		v.guests.reportEnd(m, true)
		return
	}
	v.lock.Lock()
	if v.stopped {
		v.lock.Unlock()
		return
	}
	v.vm = qemu.New(v.guests.host, m, m.Root)
	v.lock.Unlock()
	go v.followAgent()
	crashed, err := v.vm.Run(m.RootDisk(), attachments)
	if err != nil {
		m.Warn("MachineFailed", err)
	}
	v.lock.Lock()
	stopped := v.stopped
	v.lock.Unlock()
	if !stopped {
		v.guests.reportEnd(m, crashed)
	}
}

// followAgent reports the guest agent once it answers.
func (v *virtual) followAgent() {
	for v.machine.Wait(2 * time.Second) {
		if info, err := v.vm.OSInfo(); err == nil {
			v.guests.reportAgent(v.machine, map[string]any{
				"id": info.ID, "name": info.Name, "prettyName": info.PrettyName, "versionId": info.VersionID, "kernelRelease": info.KernelRelease,
			})
			return
		}
	}
}

func (v *virtual) applyFaults() {
	v.lock.Lock()
	vm, simulated := v.vm, v.simulated
	v.lock.Unlock()
	if simulated != nil {
		simulated.applyFaults()
	}
	if disconnected := v.machine.Disconnected() != nil; vm != nil && disconnected != v.disconnected {
		vm.SetLinks(!disconnected)
		v.disconnected = disconnected
	}
}

func (v *virtual) shutdown() {
	v.lock.Lock()
	v.stopped = true
	vm, simulated := v.vm, v.simulated
	v.lock.Unlock()
	if simulated != nil {
		simulated.shutdown()
		return
	}
	if vm != nil {
		grace := defaultGrace
		if seconds, found, _ := unstructured.NestedInt64(v.machine.VMI.Object, "spec", "terminationGracePeriodSeconds"); found {
			grace = time.Duration(seconds) * time.Second
		}
		vm.Stop(grace)
	}
	v.machine.Stop()
}

// Attach attaches a volume to a machine. A simulated one needs nothing to be done.
func (gs *Guests) Attach(vmi *unstructured.Unstructured, volume string) error {
	if vm := gs.vm(vmi); vm != nil {
		return vm.Attach(vmi, volume)
	}
	return nil
}

// Detach detaches a volume from a machine.
func (gs *Guests) Detach(vmi *unstructured.Unstructured, volume string) error {
	if vm := gs.vm(vmi); vm != nil {
		return vm.Detach(volume)
	}
	return nil
}

// vm returns the virtual machine of a VMI, or nil if it is simulated or not running.
func (gs *Guests) vm(vmi *unstructured.Unstructured) *qemu.VM {
	gs.lock.Lock()
	one, _ := gs.running[vmi.GetUID()].(*virtual)
	gs.lock.Unlock()
	if one == nil {
		return nil
	}
	one.lock.Lock()
	defer one.lock.Unlock()
	return one.vm
}

// isReal reports whether the machine is a virtual machine.
func (v *virtual) isReal() bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.vm != nil
}

// AgentConnected is the type of the condition of a VMI whose guest agent answers.
const AgentConnected = "AgentConnected"

// Simulated is what the guest agent of a simulated machine says.
var Simulated = map[string]any{"id": "sandbox", "name": "Sandbox Linux", "prettyName": "Sandbox Linux 1", "versionId": "1", "kernelRelease": "6.12.0"}

// AgentCondition returns that condition.
func AgentCondition() map[string]any {
	now := metav1.Now().UTC().Format(time.RFC3339)
	return map[string]any{"type": AgentConnected, "status": "True", "lastTransitionTime": now, "lastProbeTime": nil}
}

func (gs *Guests) reportAgent(m *machine.Machine, osInfo map[string]any) {
	gs.report(m, func(status map[string]any) {
		conditions, _ := status["conditions"].([]any)
		// A machine that was switched on again has the condition of its last start.
		conditions = slices.DeleteFunc(conditions, func(one any) bool {
			fields, _ := one.(map[string]any)
			return fields["type"] == AgentConnected
		})
		status["conditions"] = append(conditions, AgentCondition())
		status["guestOSInfo"] = osInfo
	})
}

// reportEnd reports a machine that ended by itself.
func (gs *Guests) reportEnd(m *machine.Machine, crashed bool) {
	gs.report(m, func(status map[string]any) {
		status["phase"] = "Succeeded"
		if crashed {
			status["phase"] = "Failed"
		}
	})
}

// report changes the status of a VMI, as virt-handler does.
func (gs *Guests) report(m *machine.Machine, change func(status map[string]any)) {
	ctx, done := context.WithTimeout(m.Context, time.Minute)
	defer done()
	vmis := gs.dynamic.Resource(vmis).Namespace(m.VMI.GetNamespace())
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		vmi, err := vmis.Get(ctx, m.Name(), metav1.GetOptions{})
		if err != nil || vmi.GetUID() != m.VMI.GetUID() {
			return err
		}
		status, _, _ := unstructured.NestedMap(vmi.Object, "status")
		change(status)
		vmi.Object["status"] = status
		_, err = vmis.Update(ctx, vmi, metav1.UpdateOptions{})
		return err
	})
	if err != nil && ctx.Err() == nil {
		m.Print(fmt.Sprintf("cannot report the status: %v", err))
	}
}
