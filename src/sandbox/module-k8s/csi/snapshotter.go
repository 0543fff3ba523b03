package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// snapshotterMain wants the definitions of snapshots in the cluster, and ends without them, as
// the real one does. It makes no snapshots: what asks this driver for one is in the log.
func snapshotterMain(ctx context.Context, args []string) error {
	o := common("worker-threads", time.Minute)
	patience := o.set.Duration("retry-crd-interval-max", 5*time.Second, "how long the definitions are waited for")
	o.set.String("snapshot-name-prefix", "snapshot", "that snapshots' names begin with")
	o.set.Int("snapshot-name-uuid-length", -1, "without effect")
	o.set.Duration("resync-period", 15*time.Minute, "how often everything is looked at again")
	o.set.Bool("extra-create-metadata", false, "tell the driver of the snapshot")
	s, err := begin(ctx, o, args)
	if err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionResource{snapClasses, snapshots} {
		if err := s.defined(ctx, kind, *patience); err != nil {
			return err
		}
	}
	s.follow(snapClasses)
	contents := s.follow(snapshots)
	if err := s.start(ctx); err != nil {
		return err
	}
	work(ctx, contents, o.pace, func(_ context.Context, one *snapshot) error {
		if one.Spec.Driver == s.driver {
			klog.InfoS("this stand-in makes no snapshots", "content", one.Name)
		}
		return nil
	})
	<-ctx.Done()
	return nil
}

type snapshot struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Driver string `json:"driver"`
	} `json:"spec"`
}

func (s *sidecar) defined(ctx context.Context, kind schema.GroupVersionResource, patience time.Duration) error {
	end := time.Now().Add(patience)
	for {
		_, err := s.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return nil
		}
		klog.ErrorS(err, "cannot list", "kind", kind.Resource)
		if time.Now().After(end) {
			return fmt.Errorf("the definitions of snapshots are missing: %w", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
