package cluster

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

// Follower keeps copies of objects.
type Follower struct {
	Cluster
	informers []cache.SharedIndexInformer
}

// Follow lists and watches a kind. If that is forbidden, each attempt is logged.
func (f *Follower) Follow(kind schema.GroupVersionResource) cache.SharedIndexInformer {
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
			// managedFields are the largest part of most objects, and unused here.
			one.SetManagedFields(nil)
		}
		return object, nil
	})
	f.informers = append(f.informers, informer)
	return informer
}

// Start starts all informers and waits until they are filled.
func (f *Follower) Start(ctx context.Context) error {
	synced := []cache.InformerSynced{}
	for _, informer := range f.informers {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("stopped before all objects were listed")
	}
	return nil
}

// Find returns nil if no object has the key.
func Find[T any](informer cache.SharedIndexInformer, key string) (*T, error) {
	object, found, err := informer.GetStore().GetByKey(key)
	if err != nil || !found {
		return nil, err
	}
	return Decode[T](object.(*unstructured.Unstructured))
}

// Pace is the back-off after errors, and the number of workers.
type Pace struct {
	First, Max time.Duration
	Workers    int
}

// Reconcile calls step for every object that is added or changed, and again after an error. The
// returned function enqueues an object by its key. Changes for which a function in matters returns
// false are ignored.
func Reconcile[T any](ctx context.Context, informer cache.SharedIndexInformer, pace Pace, step func(context.Context, *T) error, matters ...func(old, new *unstructured.Unstructured) bool) func(string) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](pace.First, pace.Max))
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
	for range pace.Workers {
		go func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				object, err := Find[T](informer, key)
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
