// Package controller runs reconcile functions over informers.
package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Start calls reconcile for each object that is added or changed, again with back-off after
// an error, and again after the duration that reconcile returns if that is positive.
func Start[T runtime.Object](ctx context.Context, informer cache.SharedIndexInformer, workers int, reconcile func(context.Context, T) (time.Duration, error)) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second))
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add})
	work := func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			object, found, err := informer.GetStore().GetByKey(key)
			var again time.Duration
			if err == nil && found {
				again, err = reconcile(ctx, object.(T))
			}
			switch {
			case err == nil || apierrors.IsNotFound(err):
				queue.Forget(key)
				if again > 0 {
					queue.AddAfter(key, again)
				}
			default:
				if !apierrors.IsConflict(err) {
					klog.ErrorS(err, "reconcile failed", "key", key)
				}
				queue.AddRateLimited(key)
			}
			queue.Done(key)
		}
	}
	for range workers {
		go work()
	}
	go func() { <-ctx.Done(); queue.ShutDown() }()
}
