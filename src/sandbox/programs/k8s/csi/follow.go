package main

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// follower keeps copies of kinds of objects.
type follower struct {
	cluster
	informers []cache.SharedIndexInformer
}

// follow lists and watches a kind; what may not be listed is told in the log for ever.
func (f *follower) follow(kind schema.GroupVersionResource) cache.SharedIndexInformer {
	all := f.Resource(kind)
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, options)
		},
	}
	informer := cache.NewSharedIndexInformer(lists, &unstructured.Unstructured{}, 10*time.Minute, cache.Indexers{})
	_ = informer.SetTransform(func(object any) (any, error) {
		if one, ok := object.(*unstructured.Unstructured); ok {
			// The largest part, and of no use here.
			one.SetManagedFields(nil)
		}
		return object, nil
	})
	f.informers = append(f.informers, informer)
	return informer
}

func (f *follower) start(ctx context.Context) error {
	synced := []cache.InformerSynced{}
	for _, informer := range f.informers {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("stopped before everything was read")
	}
	return nil
}

// find is nil when there is none of the name.
func find[T any](informer cache.SharedIndexInformer, key string) (*T, error) {
	object, found, err := informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return nil, err
	}
	return decode[T](object.(*unstructured.Unstructured))
}

// pace is how often something that failed is tried again, and by how many at once.
type pace struct {
	first, most time.Duration
	workers     int
}

// work calls step for every object that is there or changes, and again after an error. What it
// gives back has an object looked at for another reason, by its key. Changes that are of no
// matter, if it is said which these are, wait for a better reason.
func work[T any](ctx context.Context, informer cache.SharedIndexInformer, pace pace, step func(context.Context, *T) error, matters ...func(old, new *unstructured.Unstructured) bool) func(string) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](pace.first, pace.most))
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(old, object any) {
		for _, one := range matters {
			if !one(old.(*unstructured.Unstructured), object.(*unstructured.Unstructured)) {
				return
			}
		}
		add(object)
	}})
	for range pace.workers {
		go func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				object, err := find[T](informer, key)
				if err == nil && object != nil {
					err = step(ctx, object)
				}
				if err == nil || apierrors.IsNotFound(err) {
					queue.Forget(key)
				} else {
					klog.ErrorS(err, "will try again", "key", key)
					queue.AddRateLimited(key)
				}
				queue.Done(key)
			}
		}()
	}
	go func() { <-ctx.Done(); queue.ShutDown() }()
	return queue.Add
}
