// Package faults holds the faults that `kvshoot sandbox fail` asks the simulator for.
package faults

import (
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	namespace = "kvshoot-sandbox"
	configMap = "faults"
	// annotation makes a pod, VMI, Service or DataVolume misbehave: "fail" ends it as
	// Failed, "hang" keeps it in its state, a duration such as "5s" delays it.
	annotation = "sandbox.kvshoot.io/fault"
)

// Faults are the active faults, read from the ConfigMap kvshoot-sandbox/faults: a key is
// the kind of a fault, its value a comma-separated list of name prefixes, or * for all.
type Faults struct {
	lock sync.RWMutex
	data map[string]string
}

// Follow copies the ConfigMap whenever it changes, and then calls changed.
func (f *Faults) Follow(informer cache.SharedIndexInformer, changed func()) {
	set := func(object any, deleted bool) {
		config, ok := object.(*v1.ConfigMap)
		if !ok || config.Namespace != namespace || config.Name != configMap {
			return
		}
		f.lock.Lock()
		f.data = config.Data
		if deleted {
			f.data = nil
		}
		f.lock.Unlock()
		changed()
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(object, false) },
		UpdateFunc: func(_, object any) { set(object, false) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			set(object, true)
		},
	})
}

// Has reports whether a fault of the kind is active, for any name.
func (f *Faults) Has(kind string) bool {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.data[kind] != ""
}

// Matches reports whether a fault of the kind is active for the name.
func (f *Faults) Matches(kind, name string) bool {
	f.lock.RLock()
	defer f.lock.RUnlock()
	for _, prefix := range strings.Split(f.data[kind], ",") {
		if prefix == "*" || prefix != "" && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// FromAnnotations returns the fault in an object's annotations: an outcome, or a delay.
func FromAnnotations(annotations map[string]string) (outcome string, delay time.Duration) {
	value := annotations[annotation]
	if d, err := time.ParseDuration(value); err == nil {
		return "", d
	}
	return value, 0
}
