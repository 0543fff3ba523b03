package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// Time that a migration takes once its target is ready.
	migrationTime = 2 * time.Second
	migrationPoll = 500 * time.Millisecond
	// Labels of a VMI: its node, and the one that it migrates to.
	nodeLabel   = "kubevirt.io/nodeName"
	targetLabel = "kubevirt.io/migrationTargetNodeName"
	// Without it KubeVirt does not migrate a machine that has a bridge to the pod network.
	bridgeMigrates = "kubevirt.io/allow-pod-bridge-network-live-migration"
	// With it Kube-OVN gives the new pod the address of the old one.
	keepsAddress = "ovn.kubernetes.io/allow_live_migration"
)

// migrate does the work of both virt-handlers once virt-controller has handed a migration over: the machine runs on, and its
// VMI and its pods follow. It changes the VMI and its status, unless they are to be looked at again after the returned time.
func (s *simulator) migrate(ctx context.Context, vmi *unstructured.Unstructured, status map[string]any) (changed bool, again time.Duration, err error) {
	state, _, _ := unstructured.NestedMap(status, "migrationState")
	text := func(field string) string {
		value, _ := state[field].(string)
		return value
	}
	isSet := func(field string) bool { return state[field] == true }
	// Before virt-controller knows where the machine is, the end of a pod would be that of the machine.
	switch {
	case text("targetNode") == "":
		return false, 0, nil
	case isSet("failed"):
		return false, 0, s.endPod(ctx, vmi.GetNamespace(), text("targetPod"))
	case isSet("completed"):
		return false, 0, s.endPod(ctx, vmi.GetNamespace(), text("sourcePod"))
	}
	defer func() {
		if changed {
			status["migrationState"] = state
		}
	}()
	now := time.Now().UTC()
	start, _ := time.Parse(time.RFC3339, text("startTimestamp"))
	stuck := s.faults.Matches("migration-stuck", vmi.GetName())
	switch {
	case isSet("abortRequested"):
		state["abortStatus"] = "Succeeded"
		failMigration(vmi, state, "the migration was aborted")
		return true, 0, nil
	case text("targetNodeAddress") == "":
		state["targetNodeAddress"] = s.hostIP(text("targetNode"))
		return true, 0, nil
	case start.IsZero():
		state["startTimestamp"] = now.Format(time.RFC3339)
		return true, 0, nil
	case stuck || now.Sub(start) < migrationTime:
		return false, migrationPoll, nil
	case s.faults.Matches("migration-fail", vmi.GetName()):
		failMigration(vmi, state, "the connection to the target was lost")
		return true, 0, nil
	}
	pod, err := s.client.CoreV1().Pods(vmi.GetNamespace()).Get(ctx, text("targetPod"), metav1.GetOptions{})
	if err != nil {
		return false, 0, err
	}
	end := now.Format(time.RFC3339)
	state["completed"], state["endTimestamp"] = true, end
	state["targetNodeDomainDetected"], state["targetNodeDomainReadyTimestamp"] = true, end
	status["nodeName"] = text("targetNode")
	delete(status, "evacuationNodeName")
	moveInterfaces(vmi, status, pod.Status.PodIP)
	labels := vmi.GetLabels()
	labels[nodeLabel] = text("targetNode")
	delete(labels, targetLabel)
	vmi.SetLabels(labels)
	return true, 0, nil
}

// failMigration ends a migration. The machine stays where it is.
func failMigration(vmi *unstructured.Unstructured, state map[string]any, reason string) {
	state["failed"], state["failureReason"], state["endTimestamp"] = true, reason, time.Now().UTC().Format(time.RFC3339)
	labels := vmi.GetLabels()
	delete(labels, targetLabel)
	vmi.SetLabels(labels)
}

// endPod lets a pod of a machine that is elsewhere succeed.
func (s *simulator) endPod(ctx context.Context, namespace, name string) error {
	pod, err := s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || pod.Status.Phase != v1.PodRunning {
		return err
	}
	return s.writePodStatus(ctx, pod, v1.PodSucceeded)
}

// moveInterfaces gives the interface on the pod network the address of the new pod, unless a network is asked to carry the
// address over. Others keep theirs.
func moveInterfaces(vmi *unstructured.Unstructured, status map[string]any, podIP string) {
	if _, kept := vmi.GetAnnotations()[keepsAddress]; kept {
		return
	}
	onPods := podInterfaces(vmi)
	interfaces, _, _ := unstructured.NestedSlice(status, "interfaces")
	for _, one := range interfaces {
		fields, _ := one.(map[string]any)
		if onPods[fmt.Sprint(fields["name"])] && podIP != "" {
			fields["ipAddress"], fields["ipAddresses"] = podIP, []any{podIP}
		}
	}
	status["interfaces"] = interfaces
}

// podInterfaces returns the names of the networks that are the pod network.
func podInterfaces(vmi *unstructured.Unstructured) map[string]bool {
	names := map[string]bool{}
	networks, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "networks")
	for _, one := range networks {
		fields, _ := one.(map[string]any)
		if fields["pod"] != nil {
			names[fmt.Sprint(fields["name"])] = true
		}
	}
	return names
}

// migratable returns the condition that virt-handler sets on a VMI, by the same rules as far as they apply here.
func migratable(vmi *unstructured.Unstructured, isReal bool) map[string]any {
	condition := map[string]any{"type": "LiveMigratable", "status": "True", "lastProbeTime": nil, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	because := func(reason, message string) map[string]any {
		condition["status"], condition["reason"], condition["message"] = "False", reason, message
		return condition
	}
	if isReal {
		return because("SandboxNotLiveMigratable", "virtual machines of the sandbox cannot be migrated")
	}
	onPods := podInterfaces(vmi)
	interfaces, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "domain", "devices", "interfaces")
	for _, one := range interfaces {
		fields, _ := one.(map[string]any)
		_, allowed := vmi.GetAnnotations()[bridgeMigrates]
		if onPods[fmt.Sprint(fields["name"])] && fields["bridge"] != nil && !allowed {
			return because("InterfaceNotLiveMigratable", "cannot migrate VMI which does not use masquerade, bridge with "+bridgeMigrates+" VM annotation or a migratable plugin to connect to the pod network")
		}
	}
	volumes, _, _ := unstructured.NestedSlice(vmi.Object, "status", "volumeStatus")
	for _, one := range volumes {
		fields, _ := one.(map[string]any)
		claim, _ := fields["persistentVolumeClaimInfo"].(map[string]any)
		modes, _, _ := unstructured.NestedStringSlice(claim, "accessModes")
		if claim != nil && !slices.Contains(modes, "ReadWriteMany") {
			return because("DisksNotLiveMigratable", fmt.Sprintf("cannot migrate VMI: PVC %v is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)", claim["claimName"]))
		}
	}
	return condition
}
