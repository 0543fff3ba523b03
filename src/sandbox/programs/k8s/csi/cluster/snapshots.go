package cluster

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SnapshotGroup is the prefix of annotations and finalizers of snapshots.
const SnapshotGroup = "snapshot.storage.kubernetes.io/"

const (
	// BeingCreated marks a content while the driver creates its snapshot, BeingDeleted one whose
	// VolumeSnapshot was deleted.
	BeingCreated     = SnapshotGroup + "volumesnapshot-being-created"
	BeingDeleted     = SnapshotGroup + "volumesnapshot-being-deleted"
	ContentFinalizer = SnapshotGroup + "volumesnapshotcontent-bound-protection"
)

// Snapshot is a VolumeSnapshot, with the fields that are used here.
type Snapshot struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Source struct {
			Claim   string `json:"persistentVolumeClaimName"`
			Content string `json:"volumeSnapshotContentName"`
		} `json:"source"`
		Class string `json:"volumeSnapshotClassName"`
	} `json:"spec"`
	Status struct {
		Content string             `json:"boundVolumeSnapshotContentName"`
		Ready   bool               `json:"readyToUse"`
		Size    *resource.Quantity `json:"restoreSize"`
		Error   *SnapshotError     `json:"error"`
	} `json:"status"`
}

// SnapshotContent is a VolumeSnapshotContent, which is to a snapshot what a PersistentVolume is to
// a claim.
type SnapshotContent struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Driver string `json:"driver"`
		Policy string `json:"deletionPolicy"`
		Class  string `json:"volumeSnapshotClassName"`
		// Mode of the source volume.
		Mode   v1.PersistentVolumeMode `json:"sourceVolumeMode"`
		Source struct {
			Volume   string `json:"volumeHandle"`
			Snapshot string `json:"snapshotHandle"`
		} `json:"source"`
		Ref v1.ObjectReference `json:"volumeSnapshotRef"`
	} `json:"spec"`
	Status struct {
		Handle  string         `json:"snapshotHandle"`
		Created int64          `json:"creationTime"`
		Ready   bool           `json:"readyToUse"`
		Size    int64          `json:"restoreSize"`
		Error   *SnapshotError `json:"error"`
	} `json:"status"`
}

// SnapshotClass is a VolumeSnapshotClass.
type SnapshotClass struct {
	metav1.ObjectMeta `json:"metadata"`
	Driver            string            `json:"driver"`
	Policy            string            `json:"deletionPolicy"`
	Parameters        map[string]string `json:"parameters"`
}

// SnapshotError is the error in a status.
type SnapshotError struct {
	Message string `json:"message"`
	Time    string `json:"time"`
}
