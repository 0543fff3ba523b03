package simulator

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kvshoot.io/sandbox/kubernetes/faults"
	"kvshoot.io/sandbox/kubernetes/guest"
	"kvshoot.io/sandbox/kubernetes/network"
	"kvshoot.io/sandbox/kubernetes/storage"
)

const (
	foreground = "foregroundDeleteVirtualMachine"
	// Pause between checks whether a machine has shut down.
	shutdownPoll = 500 * time.Millisecond
)

var vmis = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}

// reconcileVMI does the work of virt-handler: scheduled VMIs start to run, deleted ones end.
func (s *simulator) reconcileVMI(ctx context.Context, vmi *unstructured.Unstructured) (time.Duration, error) {
	phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
	outcome, delay := faults.FromAnnotations(vmi.GetAnnotations())
	changed := vmi.DeepCopy()
	status, _, _ := unstructured.NestedMap(changed.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	switch {
	case vmi.GetDeletionTimestamp() != nil:
		kept := []string{}
		for _, f := range vmi.GetFinalizers() {
			if !strings.HasSuffix(f, foreground) {
				kept = append(kept, f)
			}
		}
		if s.guests.IsEnding(vmi.GetUID()) {
			return shutdownPoll, nil
		}
		ended := phase == "Succeeded" || phase == "Failed"
		if ended && len(kept) == len(vmi.GetFinalizers()) {
			return 0, nil
		}
		changed.SetFinalizers(kept)
		if !ended {
			status["phase"] = "Succeeded"
		}
	// Failed without ever having run is what virt-controller counts as a start failure.
	case phase == "Scheduled" && (outcome == "fail" || s.faults.Matches("vm-crash", vmi.GetName())):
		status["phase"] = "Failed"
	case phase == "Scheduled" && outcome == "":
		since := vmi.GetCreationTimestamp().Time
		if wait := delay - time.Since(since); wait > 0 {
			return wait, nil
		}
		running, err := s.running(ctx, vmi)
		if err != nil {
			return 0, err
		}
		for key, value := range running {
			status[key] = value
		}
	case phase == "Running":
		moved, again, err := s.migrate(ctx, changed, status)
		if err != nil {
			return 0, err
		}
		plugged, err := storage.Hotplug(vmi, status, s.guests)
		if !plugged && !moved {
			return again, err
		}
	default:
		return 0, nil
	}
	changed.Object["status"] = status
	// A full update, because a merge patch drops the nulls inside the conditions, which
	// virt-controller's next JSON patch tests for.
	_, err := s.dynamic.Resource(vmis).Namespace(vmi.GetNamespace()).Update(ctx, changed, metav1.UpdateOptions{})
	return 0, err
}

// running returns the status of a running VMI: its interfaces and its guest agent.
func (s *simulator) running(ctx context.Context, vmi *unstructured.Unstructured) (map[string]any, error) {
	attachments, err := network.Attachments(ctx, s.dynamic, vmi)
	if err != nil {
		return nil, err
	}
	podIP := s.podIPs.Next()
	list, err := s.client.CoreV1().Pods(vmi.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: "kubevirt.io/created-by=" + string(vmi.GetUID()), ResourceVersion: "0"})
	if err == nil && len(list.Items) > 0 && list.Items[0].Status.PodIP != "" {
		podIP = list.Items[0].Status.PodIP
	}
	reported := []any{}
	interfaces, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "domain", "devices", "interfaces")
	for i, n := range interfaces {
		one, _ := n.(map[string]any)
		name := fmt.Sprint(one["name"])
		mac, _ := one["macAddress"].(string)
		if mac == "" {
			hash := fnv.New32a()
			fmt.Fprint(hash, vmi.GetUID(), name)
			sum := hash.Sum32()
			mac = fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
		}
		ip := podIP
		if attachment := attachments[name]; attachment.Name != "" {
			others, err := s.dynamic.Resource(vmis).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			ip = s.attachmentIPs.Next(attachment, others.Items)
		}
		fields := map[string]any{
			"name": name, "mac": mac,
			"interfaceName": fmt.Sprintf("enp%ds0", i+1), "podInterfaceName": fmt.Sprintf("eth%d", i),
			"infoSource": "domain, guest-agent", "linkState": "up", "queueCount": int64(1),
		}
		if ip != "" {
			fields["ipAddress"], fields["ipAddresses"] = ip, []any{ip}
		}
		reported = append(reported, fields)
	}
	conditions, _, _ := unstructured.NestedSlice(vmi.Object, "status", "conditions")
	conditions = append(conditions, migratable(vmi, s.host != nil))
	now := metav1.Now().UTC().Format(time.RFC3339)
	transitions, _, _ := unstructured.NestedSlice(vmi.Object, "status", "phaseTransitionTimestamps")
	transitions = append(transitions, map[string]any{"phase": "Running", "phaseTransitionTimestamp": now})
	status := map[string]any{
		"phase": "Running", "interfaces": reported, "conditions": conditions, "phaseTransitionTimestamps": transitions,
		// Set by virt-handler; without it virt-controller attaches no volumes.
		"selinuxContext": "none",
	}
	// Virtual machines report their agents themselves.
	if s.host == nil {
		status["conditions"] = append(conditions, guest.AgentCondition())
		status["guestOSInfo"] = guest.Simulated
	}
	return status, nil
}
