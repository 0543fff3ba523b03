package main

import (
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	faultNamespace = "kvshoot-sandbox"
	faultConfigMap = "faults"
	// A pod, VMI, Service or DataVolume with this annotation misbehaves: "fail"
	// ends Failed, "hang" stays where it is, a duration such as "5s" delays it.
	faultKey = "sandbox.kvshoot.io/fault"
)

// faults are what the ConfigMap kvshoot-sandbox/faults asks for: a key is a
// kind of fault, its value a list of names, or * for all.
type faults struct {
	lock sync.RWMutex
	data map[string]string
}

// follow keeps the faults as the ConfigMap has them, and calls changed after
// each change.
func (f *faults) follow(informer cache.SharedIndexInformer, changed func()) {
	set := func(object any, gone bool) {
		config, ok := object.(*v1.ConfigMap)
		if !ok || config.Namespace != faultNamespace || config.Name != faultConfigMap {
			return
		}
		f.lock.Lock()
		f.data = config.Data
		if gone {
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

func (f *faults) has(kind string) bool {
	f.lock.RLock()
	defer f.lock.RUnlock()
	return f.data[kind] != ""
}

// matches tells whether a fault of the kind is asked for by a prefix of name.
func (f *faults) matches(kind, name string) bool {
	f.lock.RLock()
	defer f.lock.RUnlock()
	for _, wanted := range strings.Split(f.data[kind], ",") {
		if wanted == "*" || wanted != "" && strings.HasPrefix(name, wanted) {
			return true
		}
	}
	return false
}

// fault reads an object's fault annotation: the step's delay, or an outcome.
func fault(annotations map[string]string) (outcome string, delay time.Duration) {
	value := annotations[faultKey]
	if d, err := time.ParseDuration(value); err == nil {
		return "", d
	}
	return value, 0
}
