package sidecar

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"kvshoot.io/sandbox/kubernetes/csi/cluster"
)

// Names of the leases of the real programs; all but the last contain the driver's name.
var leaseNames = map[string]string{
	"csi-provisioner":     "%s",
	"csi-attacher":        "external-attacher-leader-%s",
	"csi-resizer":         "external-resizer-%s",
	"csi-snapshotter":     "external-snapshotter-leader-%s",
	"snapshot-controller": "snapshot-controller-leader",
}

// elected waits until it holds the lease, and renews it. The program exits if it loses the lease.
func (s *sidecar) elected(ctx context.Context) error {
	namespace := s.electionNamespace
	if namespace == "" {
		text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if err != nil {
			return fmt.Errorf("--leader-election-namespace is missing: %w", err)
		}
		namespace = string(text)
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	me := fmt.Sprintf("%s-%d", host, os.Getpid())
	name := strings.ReplaceAll(leaseNames[s.name], "%s", strings.ReplaceAll(s.driver, ".", "-"))
	all := s.Resource(cluster.Leases).Namespace(namespace)
	err = wait.PollUntilContextCancel(ctx, s.period, true, func(ctx context.Context) (bool, error) {
		held, err := s.hold(ctx, all, name, me)
		if err != nil {
			klog.ErrorS(err, "cannot take the lease", "lease", namespace+"/"+name)
		}
		return held, nil
	})
	if err != nil {
		return err
	}
	klog.InfoS("elected", "lease", namespace+"/"+name)
	renewed := time.Now()
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		held, err := s.hold(ctx, all, name, me)
		if held {
			renewed = time.Now()
		}
		if time.Since(renewed) > s.renewDeadline && ctx.Err() == nil {
			klog.ErrorS(err, "lost the lease", "lease", namespace+"/"+name)
			klog.FlushAndExit(klog.ExitFlushTimeout, 1)
		}
	}, s.period)
	return nil
}

// hold acquires an unheld or expired lease, or renews it.
func (s *sidecar) hold(ctx context.Context, all dynamic.ResourceInterface, name, me string) (bool, error) {
	now := metav1.NowMicro()
	seconds := int32(s.lease / time.Second)
	object, err := all.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object, err = cluster.Encode(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &me, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		}, "coordination.k8s.io/v1", "Lease")
		if err == nil {
			_, err = all.Create(ctx, object, metav1.CreateOptions{})
		}
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	lease, err := cluster.Decode[coordinationv1.Lease](object)
	if err != nil {
		return false, err
	}
	spec := &lease.Spec
	mine := spec.HolderIdentity != nil && *spec.HolderIdentity == me
	if !mine && spec.RenewTime != nil && time.Since(spec.RenewTime.Time) < s.lease {
		return false, nil
	}
	if !mine {
		spec.AcquireTime = &now
	}
	spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime = &me, &seconds, &now
	if object, err = cluster.Encode(lease, "coordination.k8s.io/v1", "Lease"); err != nil {
		return false, err
	}
	_, err = all.Update(ctx, object, metav1.UpdateOptions{})
	return err == nil, err
}
