// Package storage does the work of a CSI driver with snapshots, of the snapshot controller and
// of CDI: it provisions volumes, takes snapshots, and imports and clones DataVolumes.
package storage

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kvshoot.io/sandbox/kubernetes/controller"
	"kvshoot.io/sandbox/kubernetes/faults"
)

// Config is what a Controller needs to know about its sandbox.
type Config struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Faults  *faults.Faults
	// Node is where volumes are placed that wait for their first consumer; may be empty.
	Node string
	// ImportTime is the duration of an import.
	ImportTime time.Duration
	// DeleteData removes the data of a persistent volume.
	DeleteData func(volume string) error
}

// Controller reconciles claims, volumes, snapshots and DataVolumes.
type Controller struct {
	Config
	claims, classes                         cache.Store
	snapshots, snapshotClasses, dataVolumes cache.Store
	// Start times of imports, by the UID of the DataVolume.
	imports sync.Map
}

// New returns a controller that does not watch anything yet.
func New(config Config) *Controller { return &Controller{Config: config} }

// WatchVolumes provisions, resizes and deletes persistent volumes.
func (c *Controller) WatchVolumes(ctx context.Context, core informers.SharedInformerFactory, custom dynamicinformer.DynamicSharedInformerFactory) {
	claims := core.Core().V1().PersistentVolumeClaims().Informer()
	c.claims, c.classes = claims.GetStore(), core.Storage().V1().StorageClasses().Informer().GetStore()
	c.snapshots = custom.ForResource(volumeSnapshots).Informer().GetStore()
	c.snapshotClasses = custom.ForResource(snapshotClasses).Informer().GetStore()
	controller.Start(ctx, claims, 4, c.reconcileClaim)
	controller.Start(ctx, core.Core().V1().PersistentVolumes().Informer(), 4, func(ctx context.Context, volume *v1.PersistentVolume) (time.Duration, error) {
		return 0, c.reclaim(ctx, volume)
	})
}

// WatchSnapshots takes and deletes snapshots of claims.
func (c *Controller) WatchSnapshots(ctx context.Context, custom dynamicinformer.DynamicSharedInformerFactory) {
	controller.Start(ctx, custom.ForResource(volumeSnapshots).Informer(), 2, c.reconcileSnapshot)
}

// WatchDataVolumes imports and clones DataVolumes.
func (c *Controller) WatchDataVolumes(ctx context.Context, custom dynamicinformer.DynamicSharedInformerFactory) {
	informer := custom.ForResource(dataVolumes).Informer()
	c.dataVolumes = informer.GetStore()
	controller.Start(ctx, informer, 8, c.reconcileDataVolume)
}
