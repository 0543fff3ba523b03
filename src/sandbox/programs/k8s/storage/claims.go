package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	bindImmediate = "cdi.kubevirt.io/storage.bind.immediate.requested"
	selectedNode  = "volume.kubernetes.io/selected-node"
)

// targetClaim returns the claim that a DataVolume populates, and creates it if needed.
func (c *Controller) targetClaim(ctx context.Context, dv *unstructured.Unstructured) (*v1.PersistentVolumeClaim, error) {
	if object, found, err := c.claims.GetByKey(dv.GetNamespace() + "/" + dv.GetName()); err == nil && found {
		return object.(*v1.PersistentVolumeClaim), nil
	}
	fields, found, _ := unstructured.NestedMap(dv.Object, "spec", "storage")
	if !found {
		fields, _, _ = unstructured.NestedMap(dv.Object, "spec", "pvc")
	}
	var spec v1.PersistentVolumeClaimSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return nil, err
	}
	if len(spec.AccessModes) == 0 {
		spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	}
	if spec.Resources.Requests == nil {
		spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	}
	labels := map[string]string{"app": "containerized-data-importer"}
	for key, value := range dv.GetLabels() {
		labels[key] = value
	}
	yes := true
	claims := c.Client.CoreV1().PersistentVolumeClaims(dv.GetNamespace())
	claim, err := claims.Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: dv.GetName(), Namespace: dv.GetNamespace(), Labels: labels, Annotations: dv.GetAnnotations(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: dv.GetAPIVersion(), Kind: dv.GetKind(), Name: dv.GetName(), UID: dv.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: spec,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return claims.Get(ctx, dv.GetName(), metav1.GetOptions{})
	}
	return claim, err
}

// waitForVolume waits for the claim's volume. If its class waits for the first consumer and
// the DataVolume requests immediate binding, it selects a node, as an importer pod would.
func (c *Controller) waitForVolume(ctx context.Context, dv *unstructured.Unstructured, claim *v1.PersistentVolumeClaim) (time.Duration, error) {
	next := progress{phase: "Pending", boundReason: "Pending", boundMessage: fmt.Sprintf("PVC %s Pending", claim.Name)}
	if name := claim.Spec.StorageClassName; name != nil {
		object, found, _ := c.classes.GetByKey(*name)
		if !found {
			return 10 * poll, c.writeStatus(ctx, dv, next)
		}
		mode := object.(*storagev1.StorageClass).VolumeBindingMode
		if mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer && claim.Annotations[selectedNode] == "" {
			if dv.GetAnnotations()[bindImmediate] == "" {
				next.phase = "WaitForFirstConsumer"
				return 2 * poll, c.writeStatus(ctx, dv, next)
			}
			if c.Node != "" {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, selectedNode, c.Node)
				_, err := c.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return poll, err
			}
		}
	}
	return poll, c.writeStatus(ctx, dv, next)
}

// progress is the status of a DataVolume.
type progress struct {
	phase, amount                 string
	restarts                      int64
	bound, ready, running         bool
	boundReason, boundMessage     string
	runningReason, runningMessage string
}

// writeStatus writes the status if it has changed.
func (c *Controller) writeStatus(ctx context.Context, dv *unstructured.Unstructured, p progress) error {
	if p.bound {
		p.boundReason, p.boundMessage = "Bound", fmt.Sprintf("PVC %s Bound", dv.GetName())
	}
	readyReason := ""
	if p.running {
		readyReason = "TransferRunning"
	}
	old, _, _ := unstructured.NestedMap(dv.Object, "status")
	status := map[string]any{
		"claimName": dv.GetName(), "phase": p.phase, "restartCount": max(p.restarts, number(old["restartCount"])),
		"conditions": []any{
			newCondition(dv, "Bound", p.bound, p.boundReason, p.boundMessage),
			newCondition(dv, "Ready", p.ready, readyReason, ""),
			newCondition(dv, "Running", p.running, p.runningReason, p.runningMessage),
		},
	}
	if p.amount != "" {
		status["progress"] = p.amount
	}
	if reflect.DeepEqual(old, status) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": dv.GetResourceVersion()}, "status": status})
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(dataVolumes).Namespace(dv.GetNamespace()).Patch(ctx, dv.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	if err == nil && p.phase == "Succeeded" {
		c.imports.Delete(dv.GetUID())
	}
	return err
}

func number(value any) int64 {
	n, _ := value.(int64)
	return n
}

// newCondition returns a condition as CDI writes it: its times change only with its content.
func newCondition(dv *unstructured.Unstructured, kind string, holds bool, reason, message string) map[string]any {
	status := "False"
	if holds {
		status = "True"
	}
	now := metav1.Now().UTC().Format(time.RFC3339)
	next := map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now, "lastHeartbeatTime": now}
	old := condition(dv, kind)
	if old["status"] == status {
		next["lastTransitionTime"] = old["lastTransitionTime"]
		if text(old["reason"]) == reason && text(old["message"]) == message {
			next["lastHeartbeatTime"] = old["lastHeartbeatTime"]
		}
	}
	return next
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

func condition(dv *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(dv.Object, "status", "conditions")
	for _, item := range list {
		if one, ok := item.(map[string]any); ok && one["type"] == kind {
			return one
		}
	}
	return map[string]any{}
}
