package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

var vms = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}

// guests are the machines that run: each VMI that is Running has one, which
// does what cloud-init, kubelet and containerd would do inside.
type guests struct {
	sim    *simulator
	folder string
	logs   string
	// What guests reach of each other: pods, kubelets.
	wire wire

	lock    sync.Mutex
	running map[types.UID]*guest
}

func newGuests(s *simulator, kubeconfig string) *guests {
	folder, err := filepath.Abs(filepath.Dir(kubeconfig))
	if err != nil {
		folder = "."
	}
	return &guests{
		sim: s, folder: filepath.Join(folder, "guests"), logs: filepath.Join(folder, "logs", "guests"),
		running: map[types.UID]*guest{},
	}
}

// follow starts a guest for each VMI that runs and ends it with the VMI.
func (gs *guests) follow(ctx context.Context, informer cache.SharedIndexInformer) {
	see := func(object any) {
		vmi, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
		if phase == "Running" && vmi.GetDeletionTimestamp() == nil {
			gs.start(ctx, vmi)
		} else {
			gs.stop(vmi.GetUID())
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if vmi, ok := object.(*unstructured.Unstructured); ok {
				gs.stop(vmi.GetUID())
				go gs.forget(ctx, vmi)
			}
		},
	})
	go gs.judge(ctx)
}

func (gs *guests) start(ctx context.Context, vmi *unstructured.Unstructured) {
	gs.lock.Lock()
	defer gs.lock.Unlock()
	if gs.running[vmi.GetUID()] != nil {
		return
	}
	g := newGuest(ctx, gs, vmi)
	if g == nil {
		return
	}
	gs.running[vmi.GetUID()] = g
	go g.run()
}

func (gs *guests) stop(uid types.UID) {
	gs.lock.Lock()
	g := gs.running[uid]
	delete(gs.running, uid)
	gs.lock.Unlock()
	if g != nil {
		go g.shutdown()
	}
}

// judge cuts the connections of guests that a fault has come over.
func (gs *guests) judge(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		gs.lock.Lock()
		for _, g := range gs.running {
			// New connections meet the fault by themselves.
			if wrong := g.clockWrong(); g.cut() != nil || wrong && !g.wrong {
				g.line.CloseAll()
			}
			g.wrong = g.clockWrong()
		}
		gs.lock.Unlock()
	}
}

// forget removes the disk of a machine that is gone; one that only restarts
// keeps it.
func (gs *guests) forget(ctx context.Context, vmi *unstructured.Unstructured) {
	for {
		vm, err := gs.sim.dynamic.Resource(vms).Namespace(vmi.GetNamespace()).Get(ctx, vmi.GetName(), metav1.GetOptions{})
		if err == nil && vm.GetDeletionTimestamp() == nil {
			return
		}
		if apierrors.IsNotFound(err) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	entries, _ := os.ReadDir(gs.folder)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), disk(vmi.GetNamespace(), vmi.GetName(), "")) {
			_ = os.RemoveAll(filepath.Join(gs.folder, entry.Name()))
		}
	}
}

// disk names a machine's folder. A machine of the same name is another one
// when it was made anew.
func disk(namespace, name string, uid types.UID) string {
	return namespace + "_" + name + "_" + string(uid)
}

// event tells on the VMI what went wrong inside; where a console is all there
// is, people would look in vain.
func (gs *guests) event(vmi *unstructured.Unstructured, kind, reason, message string) {
	now := metav1.Now()
	event := &v1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: vmi.GetName() + ".", Namespace: vmi.GetNamespace()},
		InvolvedObject: v1.ObjectReference{
			APIVersion: vmi.GetAPIVersion(), Kind: vmi.GetKind(), Namespace: vmi.GetNamespace(), Name: vmi.GetName(), UID: vmi.GetUID(),
		},
		Type: kind, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: v1.EventSource{Component: "guest"}, ReportingController: "sandbox.kvshoot.io/guest", ReportingInstance: vmi.GetName(),
	}
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	if _, err := gs.sim.kube.CoreV1().Events(vmi.GetNamespace()).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		klog.ErrorS(err, "cannot write the event", "vmi", vmi.GetName(), "reason", reason)
	}
}
