package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// runner runs the pods of control planes as processes of this computer.
type runner struct {
	s *simulator
	// Folders: of the pods' roots, of persistent volumes, of the containers' logs.
	dir, volumes, logs string
	// Where the sandbox's programs are, the binary that most of them are, and kvshoot.
	bin, program, kvshoot string
	// The environment that keeps programs small.
	thrift  []string
	apiPort string
	// Which loopback addresses are this sandbox's.
	row      int
	launch   launcher
	recorder record.EventRecorder

	secrets, configMaps, podStore cache.Store
	// Closed once these are filled.
	synced chan struct{}
	// Called when a pod's readiness may have changed.
	changed func()

	lock  sync.Mutex
	pods  map[types.UID]*podRun
	holds map[string]*podRun
	given int
}

func newRunner(ctx context.Context, s *simulator, dir, logs string, row int, apiPort, kvshoot string) (*runner, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &runner{
		s: s, dir: filepath.Join(dir, "running"), volumes: filepath.Join(dir, "volumes"), logs: logs, apiPort: apiPort, row: row,
		bin: filepath.Dir(executable), program: filepath.Join(dir, "program"), kvshoot: kvshoot,
		launch: newLauncher(), thrift: thrift(), changed: func() {}, synced: make(chan struct{}),
		pods: map[types.UID]*podRun{}, holds: map[string]*podRun{},
	}
	if err := r.recover(); err != nil {
		return nil, err
	}
	// They may be others than those of the last run.
	old, _ := filepath.Glob(r.program + "*")
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
	}
	if err := place(executable, r.program); err != nil {
		return nil, err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: s.kube.CoreV1().Events("")})
	r.recorder = events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet", Host: "sandbox"})
	return r, nil
}

// follow listens for what the pods are made of, and opens the Services' doors.
func (r *runner) follow(ctx context.Context, factory informers.SharedInformerFactory) {
	core := factory.Core().V1()
	secrets, configMaps := core.Secrets().Informer(), core.ConfigMaps().Informer()
	pods, services := core.Pods().Informer(), core.Services().Informer()
	r.secrets, r.configMaps, r.podStore = secrets.GetStore(), configMaps.GetStore(), pods.GetStore()
	doors := newForwarder(r)
	r.changed = doors.mark
	touched := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { doors.mark() }, UpdateFunc: func(any, any) { doors.mark() }, DeleteFunc: func(any) { doors.mark() },
	}
	_, _ = services.AddEventHandler(touched)
	_, _ = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, new any) {
			if old, new := old.(*v1.Pod), new.(*v1.Pod); old.UID != new.UID {
				r.gone(old.UID)
			}
			doors.mark()
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if pod, ok := object.(*v1.Pod); ok {
				r.gone(pod.UID)
			}
			doors.mark()
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced, configMaps.HasSynced, pods.HasSynced, services.HasSynced) {
			close(r.synced)
			doors.keep(ctx)
		}
	}()
}

// runs tells whether a pod is run as processes: it is kvshoot's, and all its
// containers are programs that the sandbox has.
func (r *runner) runs(pod *v1.Pod) bool {
	if r == nil || pod.Labels["app.kubernetes.io/managed-by"] != "kvshoot" {
		return false
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		if len(container.Command) == 0 || r.binary(path.Base(container.Command[0])) == "" {
			return false
		}
	}
	return true
}

// binary finds the file that a program is, beside the roots so that it can be
// linked into them; it is empty for what the sandbox does not have.
func (r *runner) binary(name string) string {
	if programs()[name] != nil {
		return r.program
	}
	source := filepath.Join(r.bin, name)
	if name == "kvshoot" {
		source = r.kvshoot
	}
	target, err := filepath.EvalSymlinks(source)
	if err != nil {
		return ""
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	placed := r.program + "-" + filepath.Base(target)
	if _, err := os.Stat(placed); err == nil {
		return placed
	}
	if err := place(target, placed); err != nil {
		return ""
	}
	return placed
}

// see takes a pod as it is now; a new one is begun.
func (r *runner) see(ctx context.Context, pod *v1.Pod) {
	r.lock.Lock()
	defer r.lock.Unlock()
	p, found := r.pods[pod.UID]
	if !found {
		r.given++
		p = newPodRun(r, pod, loopback(podBlock, r.row, r.given))
		r.pods[pod.UID] = p
		go p.live(ctx)
	}
	p.see(pod)
}

// gone ends a pod whose object is no more.
func (r *runner) gone(uid types.UID) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if p := r.pods[uid]; p != nil {
		p.lose()
	}
}

func (r *runner) forget(p *podRun) {
	r.lock.Lock()
	delete(r.pods, p.uid)
	r.lock.Unlock()
	r.changed()
}

func (r *runner) hold(volume string, p *podRun) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if holder := r.holds[volume]; holder != nil && holder != p {
		return false
	}
	r.holds[volume] = p
	return true
}

func (r *runner) release(volume string, p *podRun) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.holds[volume] == p {
		delete(r.holds, volume)
	}
}

// addressOf is the address of a pod's processes, if it has any.
func (r *runner) addressOf(uid types.UID) string {
	r.lock.Lock()
	defer r.lock.Unlock()
	if p := r.pods[uid]; p != nil {
		return p.address
	}
	return ""
}

func (r *runner) find(namespace, name string) *podRun {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, p := range r.pods {
		if p.namespace == namespace && p.name == name {
			return p
		}
	}
	return nil
}

// backend is a pod that a Service leads to.
type backend struct {
	pod     *v1.Pod
	address string
}

// behind are the running pods that a Service selects; only ready ones, unless all
// are wanted or the Service wants all.
func (r *runner) behind(service *v1.Service, all bool) []backend {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var ready, ending []backend
	for _, object := range r.podStore.List() {
		pod := object.(*v1.Pod)
		if pod.Namespace != service.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		address := r.addressOf(pod.UID)
		if address == "" {
			continue
		}
		one := backend{pod, address}
		switch {
		case all || service.Spec.PublishNotReadyAddresses || isReady(pod) && pod.DeletionTimestamp == nil:
			ready = append(ready, one)
		case isReady(pod):
			ending = append(ending, one)
		}
	}
	// As kube-proxy does: who is about to end serves while there is nobody else.
	if len(ready) == 0 {
		return ending
	}
	return ready
}

func isReady(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

func (r *runner) secret(namespace, name string) (*v1.Secret, error) {
	object, found, err := r.secrets.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewNotFound(v1.Resource("secret"), name)
	}
	return object.(*v1.Secret), nil
}

func (r *runner) configMap(namespace, name string) (*v1.ConfigMap, error) {
	object, found, err := r.configMaps.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewNotFound(v1.Resource("configmap"), name)
	}
	return object.(*v1.ConfigMap), nil
}

// The blocks of 127.0.0.0/8 that sandboxes take: each has one /16 of each.
const (
	serviceBlock  = 64
	balancerBlock = 96
	podBlock      = 128
)

func loopback(block, row, n int) string {
	return fmt.Sprintf("127.%d.%d.%d", block+row, n>>8&255, n&255)
}

// deleteNow takes a pod's object away once nothing of it runs.
func (r *runner) deleteNow(ctx context.Context, pod *v1.Pod) error {
	now := int64(0)
	err := r.s.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
