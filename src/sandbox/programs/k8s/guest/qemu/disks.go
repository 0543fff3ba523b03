package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dataDisk is the file of a volume, in the folder of its PersistentVolume.
const dataDisk = "disk.qcow2"

// disk is a disk of a VMI with its volume.
type disk struct {
	name, serial, bus string
	volume            map[string]any
}

// disksOf returns the disks of a VMI in their order.
func disksOf(vmi *unstructured.Unstructured) []disk {
	volumes := map[string]map[string]any{}
	list, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "volumes")
	for _, one := range list {
		volume, _ := one.(map[string]any)
		volumes[fmt.Sprint(volume["name"])] = volume
	}
	found := []disk{}
	list, _, _ = unstructured.NestedSlice(vmi.Object, "spec", "domain", "devices", "disks")
	for _, one := range list {
		fields, _ := one.(map[string]any)
		name := fmt.Sprint(fields["name"])
		serial, _ := fields["serial"].(string)
		bus, _, _ := unstructured.NestedString(fields, "disk", "bus")
		found = append(found, disk{name: name, serial: serial, bus: bus, volume: volumes[name]})
	}
	return found
}

// claim returns the name of the claim whose data the disk has.
func (d disk) claim() string {
	for _, path := range [][]string{{"dataVolume", "name"}, {"persistentVolumeClaim", "claimName"}} {
		if name, _, _ := unstructured.NestedString(d.volume, path...); name != "" {
			return name
		}
	}
	return ""
}

// isHotplugged reports whether the volume is attached while the machine runs.
func (d disk) isHotplugged() bool {
	for _, source := range []string{"dataVolume", "persistentVolumeClaim"} {
		if hot, _, _ := unstructured.NestedBool(d.volume, source, "hotpluggable"); hot {
			return true
		}
	}
	return false
}

// disks returns the arguments for the disks that a machine boots with. The first one is the system's.
func (v *VM) disks() ([]string, error) {
	arguments := []string{"-device", "virtio-scsi-pci,id=scsi"}
	isRoot := true
	for i, one := range disksOf(v.machine.VMI) {
		file, format, more := "", "qcow2", ",discard=unmap"
		var err error
		switch {
		case one.isHotplugged():
		case one.volume["cloudInitNoCloud"] != nil || one.volume["cloudInitConfigDrive"] != nil:
			file, format, more = v.path(seedDisk), "raw", ",readonly=on"
			err = v.writeSeed(v.machine)
		case one.volume["emptyDisk"] != nil:
			capacity, _, _ := unstructured.NestedString(one.volume, "emptyDisk", "capacity")
			file = v.path(one.name + ".qcow2")
			err = v.makeDisk(file, capacity)
		case one.claim() == "" && one.volume["containerDisk"] == nil:
		case isRoot:
			file, isRoot = v.path(overlay), false
		default:
			file, err = v.claimedDisk(one)
		}
		if err != nil {
			return nil, fmt.Errorf("disk %s: %w", one.name, err)
		}
		if file != "" {
			// The computer's page cache outlives qemu, so that flushing costs time and gains nothing.
			drive := fmt.Sprintf("file=%s,if=none,id=disk%d,format=%s,cache=unsafe%s", quote(file), i, format, more)
			arguments = append(arguments, "-drive", drive, "-device", one.device(fmt.Sprintf("disk%d", i)))
		}
	}
	if isRoot {
		return nil, errors.New("the machine has no disk to boot from")
	}
	return arguments, nil
}

func (d disk) device(drive string) string {
	device := "virtio-blk-pci,drive=" + drive
	if d.bus == "scsi" || d.bus == "sata" {
		device = "scsi-hd,bus=scsi.0,drive=" + drive
	}
	if d.serial != "" {
		device += ",serial=" + quote(d.serial)
	}
	return device
}

// makeDisk makes an empty disk. One that exists grows to the capacity.
func (v *VM) makeDisk(file, capacity string) error {
	size, err := resource.ParseQuantity(capacity)
	if err != nil {
		return fmt.Errorf("capacity %q: %w", capacity, err)
	}
	if exists(file) {
		return v.growDisk(file, size)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return v.run(imgProgram, "create", "-q", "-f", "qcow2", file, strconv.FormatInt(size.Value(), 10))
}

// growDisk expands a disk, as KubeVirt does when a machine starts and its volume has become larger.
func (v *VM) growDisk(file string, size resource.Quantity) error {
	text, err := exec.Command(filepath.Join(v.host.Installation, imgProgram), "info", "--output=json", file).Output()
	if err != nil {
		return fmt.Errorf("%s info: %w", imgProgram, err)
	}
	var info struct {
		Size int64 `json:"virtual-size"`
	}
	if err := json.Unmarshal(text, &info); err != nil || info.Size >= size.Value() {
		return err
	}
	return v.run(imgProgram, "resize", "-q", file, strconv.FormatInt(size.Value(), 10))
}

// claimedDisk returns the file of a claim's volume, and makes it at first.
func (v *VM) claimedDisk(one disk) (string, error) {
	claims := v.machine.Client.CoreV1().PersistentVolumeClaims(v.machine.VMI.GetNamespace())
	claim, err := claims.Get(v.machine.Context, one.claim(), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if claim.Spec.VolumeName == "" {
		return "", fmt.Errorf("claim %s is not bound", claim.Name)
	}
	file := filepath.Join(v.host.VolumeDir(claim.Spec.VolumeName), dataDisk)
	return file, v.makeDisk(file, claim.Status.Capacity.Storage().String())
}

// Attach attaches a volume while the machine runs.
func (v *VM) Attach(vmi *unstructured.Unstructured, name string) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.attached[name] {
		return nil
	}
	for _, one := range disksOf(vmi) {
		if one.name != name {
			continue
		}
		file, err := v.claimedDisk(one)
		if err != nil {
			return err
		}
		node := nodeName(name)
		_, err = runMonitor(v.socket(monitor), "blockdev-add", map[string]any{
			"driver": "qcow2", "node-name": node, "discard": "unmap", "cache": map[string]any{"no-flush": true},
			"file": map[string]any{"driver": "file", "filename": file},
		})
		if err != nil {
			return err
		}
		_, err = runMonitor(v.socket(monitor), "device_add", map[string]any{
			"driver": "scsi-hd", "bus": "scsi.0", "id": node, "drive": node, "serial": one.serial,
		})
		if err != nil {
			_, _ = runMonitor(v.socket(monitor), "blockdev-del", map[string]any{"node-name": node})
			return err
		}
		v.attached[name] = true
		return nil
	}
	return fmt.Errorf("the VMI has no disk %s", name)
}

// Detach detaches a volume. It fails while the machine has not let the disk go.
func (v *VM) Detach(name string) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	if !v.attached[name] {
		return nil
	}
	node := nodeName(name)
	// It may have been asked before.
	_, _ = runMonitor(v.socket(monitor), "device_del", map[string]any{"id": node})
	if _, err := runMonitor(v.socket(monitor), "blockdev-del", map[string]any{"node-name": node}); err != nil {
		return err
	}
	delete(v.attached, name)
	return nil
}

// nodeName returns a short name for a volume: qemu's are at most 31 bytes long.
func nodeName(volume string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(volume))
	return fmt.Sprintf("volume-%x", hash.Sum64())
}
