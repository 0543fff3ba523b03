// Package pods runs the pods of control planes as processes of this computer, each in a root
// folder without a container engine, and answers for their kubelets.
package pods

import (
	"context"
	"net/netip"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"kvshoot.io/sandbox/kubernetes/faults"
	"kvshoot.io/sandbox/kubernetes/network"
)

// Config is what a Runner needs to know about its sandbox.
type Config struct {
	Client kubernetes.Interface
	Faults *faults.Faults
	// Folder for the pods' roots and persistent volumes.
	Dir string
	// Folder for the containers' logs.
	Logs string
	// The sandbox's row of loopback addresses, from 0 to 31.
	Row     int
	APIPort string
	// Path of the program kvshoot.
	Kvshoot string
	// HasProgram reports whether this binary can run as the named program.
	HasProgram func(name string) bool
	// HostIP returns the address that a node's pods report as their host's.
	HostIP func(node string) string
	PodIPs *network.PodIPs
	// DialMachine opens a connection to an address and port of a machine; nil if all machines are simulated.
	DialMachine network.Dial
}

// Runner runs the pods of control planes as processes of this computer.
type Runner struct {
	Config
	// Folders of the pods' roots and of persistent volumes.
	roots, volumes string
	// The folder of the sandbox's programs, and a copy of this binary next to the roots.
	bin, program string
	// Environment variables that reduce the memory use of programs.
	memorySettings []string
	launch         launcher
	recorder       record.EventRecorder

	secrets, configMaps, claims, services, podStore cache.Store
	// Closed once the stores are filled.
	synced chan struct{}
	// Called when a pod's readiness may have changed.
	changed func()

	lock    sync.Mutex
	workers map[types.UID]*worker
	// The workers that persistent volumes are attached to.
	attached map[string]*worker
	// The number of loopback addresses given out.
	addresses int
}

// NewRunner cleans up after an earlier run and returns a runner without pods.
func NewRunner(ctx context.Context, config Config) (*Runner, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &Runner{
		Config: config, roots: filepath.Join(config.Dir, "running"), volumes: filepath.Join(config.Dir, "volumes"),
		bin: filepath.Dir(executable), program: filepath.Join(config.Dir, "program"),
		launch: newLauncher(), memorySettings: memorySettings(), changed: func() {}, synced: make(chan struct{}),
		workers: map[types.UID]*worker{}, attached: map[string]*worker{},
	}
	if err := r.recover(); err != nil {
		return nil, err
	}
	// The programs may have changed since the last run.
	old, _ := filepath.Glob(r.program + "*")
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
	}
	if err := linkOrCopy(executable, r.program); err != nil {
		return nil, err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: r.Client.CoreV1().Events("")})
	r.recorder = events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet", Host: "sandbox"})
	return r, nil
}

// Follow watches the objects that pods are made from, and forwards the Services' ports to
// the pods.
func (r *Runner) Follow(ctx context.Context, factory informers.SharedInformerFactory) {
	core := factory.Core().V1()
	secrets, configMaps := core.Secrets().Informer(), core.ConfigMaps().Informer()
	pods, services := core.Pods().Informer(), core.Services().Informer()
	r.secrets, r.configMaps, r.podStore = secrets.GetStore(), configMaps.GetStore(), pods.GetStore()
	r.services, r.claims = services.GetStore(), core.PersistentVolumeClaims().Informer().GetStore()
	forwarder := network.NewForwarder(r.services, r, r.APIPort, r.dial)
	r.changed = forwarder.Notify
	_, _ = services.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { forwarder.Notify() },
		UpdateFunc: func(any, any) { forwarder.Notify() },
		DeleteFunc: func(any) { forwarder.Notify() },
	})
	_, _ = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, new any) {
			if old, new := old.(*v1.Pod), new.(*v1.Pod); old.UID != new.UID {
				r.deleted(old.UID)
			}
			forwarder.Notify()
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if pod, ok := object.(*v1.Pod); ok {
				r.deleted(pod.UID)
			}
			forwarder.Notify()
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced, configMaps.HasSynced, pods.HasSynced, services.HasSynced) {
			close(r.synced)
			forwarder.Run(ctx)
		}
	}()
}

// Runs reports whether a pod is run as processes: it is kvshoot's, and all its containers run
// programs that the sandbox has. A nil runner runs none.
func (r *Runner) Runs(pod *v1.Pod) bool {
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

// binary returns the file of a program, in the roots' file system so that it can be
// hard-linked into them; it is empty for a program that the sandbox does not have.
func (r *Runner) binary(name string) string {
	if r.HasProgram(name) {
		return r.program
	}
	source := filepath.Join(r.bin, name)
	if name == "kvshoot" {
		source = r.Kvshoot
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
	if err := linkOrCopy(target, placed); err != nil {
		return ""
	}
	return placed
}

// Update passes on the current version of a pod, and starts the pod if it is new.
func (r *Runner) Update(ctx context.Context, pod *v1.Pod) {
	r.lock.Lock()
	defer r.lock.Unlock()
	w, found := r.workers[pod.UID]
	if !found {
		r.addresses++
		w = newWorker(r, pod, network.PodAddress(r.Row, r.addresses))
		r.workers[pod.UID] = w
		go w.run(ctx)
	}
	w.update(pod)
}

// VolumeDir returns the folder of a persistent volume that is not attached to a pod.
func (r *Runner) VolumeDir(name string) string { return filepath.Join(r.volumes, name) }

// deleted stops a pod whose object was deleted.
func (r *Runner) deleted(uid types.UID) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if w := r.workers[uid]; w != nil {
		w.abandon()
	}
}

func (r *Runner) forget(w *worker) {
	r.lock.Lock()
	delete(r.workers, w.uid)
	r.lock.Unlock()
	r.changed()
}

// attach reserves a volume for a pod; it fails while another pod has the volume.
func (r *Runner) attach(volume string, w *worker) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if holder := r.attached[volume]; holder != nil && holder != w {
		return false
	}
	r.attached[volume] = w
	return true
}

func (r *Runner) detach(volume string, w *worker) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.attached[volume] == w {
		delete(r.attached, volume)
	}
}

// addressOf returns the address of a pod's processes, or "" if the pod does not run here.
func (r *Runner) addressOf(uid types.UID) string {
	r.lock.Lock()
	defer r.lock.Unlock()
	if w := r.workers[uid]; w != nil {
		return w.address
	}
	return ""
}

func (r *Runner) find(namespace, name string) *worker {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, w := range r.workers {
		if w.namespace == namespace && w.name == name {
			return w
		}
	}
	return nil
}

// Backends implements network.Backends.
func (r *Runner) Backends(service *v1.Service, all bool) []network.Backend {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var ready, terminating []network.Backend
	for _, object := range r.podStore.List() {
		pod := object.(*v1.Pod)
		if pod.Namespace != service.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		address := r.addressOf(pod.UID)
		if r.DialMachine != nil && pod.Labels["kubevirt.io"] == "virt-launcher" {
			address = pod.Status.PodIP
		}
		if address == "" {
			continue
		}
		backend := network.Backend{Pod: pod, Address: address}
		switch {
		case all || service.Spec.PublishNotReadyAddresses || isReady(pod) && pod.DeletionTimestamp == nil:
			ready = append(ready, backend)
		case isReady(pod):
			terminating = append(terminating, backend)
		}
	}
	// As in kube-proxy, terminating pods serve while there are no others.
	if len(ready) == 0 {
		return terminating
	}
	return ready
}

// dial opens a connection to a process of this computer, or to a machine.
func (r *Runner) dial(address string) (network.Connection, error) {
	parsed, err := netip.ParseAddrPort(address)
	if err == nil && r.DialMachine != nil && !parsed.Addr().IsLoopback() {
		return r.DialMachine(address)
	}
	return network.DialTCP(address)
}

func isReady(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

func (r *Runner) secret(namespace, name string) (*v1.Secret, error) {
	object, found, err := r.secrets.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewNotFound(v1.Resource("secret"), name)
	}
	return object.(*v1.Secret), nil
}

func (r *Runner) configMap(namespace, name string) (*v1.ConfigMap, error) {
	object, found, err := r.configMaps.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewNotFound(v1.Resource("configmap"), name)
	}
	return object.(*v1.ConfigMap), nil
}

// deleteObject deletes a pod's object, once none of its processes run.
func (r *Runner) deleteObject(ctx context.Context, pod *v1.Pod) error {
	now := int64(0)
	err := r.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
