// Package qemu runs machines as virtual machines of qemu.
package qemu

import (
	"os"
	"path/filepath"
	"sync"
)

// Files of an installation. Programs of this computer are links in it, so that the sandbox recognizes its processes.
const (
	program    = "qemu-system-x86_64"
	imgProgram = "qemu-img"
	isoProgram = "xorriso"
	goldenDisk = "root.qcow2"
	kernel     = "vmlinuz"
	initrd     = "initrd.img"
)

// Files in the folder of a machine: its disk, and a link to the installation that this was made from.
const (
	overlay          = "root.qcow2"
	installationLink = "installation"
)

// Host is this computer, as far as it runs virtual machines.
type Host struct {
	// Installation is the folder with the golden disk.
	Installation string
	// Sockets is the folder with the sockets of guest-network and of machines, relative to the working directory.
	Sockets string
	// VolumeDir returns the folder of the data of a PersistentVolume.
	VolumeDir func(volume string) string
	// KVM uses the processor's virtualization; otherwise it is emulated.
	KVM bool
	// Limit is the largest number of machines; those beyond it are simulated.
	Limit int

	lock sync.Mutex
	// Folders of running machines. Each is closed when its machine has ended.
	running map[string]chan struct{}
}

// Take reserves the folder for a machine, unless there is no room. Machines that have run here before always may.
// Give must be called once the machine has ended.
func (h *Host) Take(folder string) bool {
	if h == nil {
		return false
	}
	for {
		ended, ok := h.tryTake(folder)
		if ended == nil {
			return ok
		}
		// The machine is being restarted, and still uses its disk.
		<-ended
	}
}

// tryTake returns a channel to wait for if the folder is in use.
func (h *Host) tryTake(folder string) (<-chan struct{}, bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if ended := h.running[folder]; ended != nil {
		return ended, false
	}
	hasDisk := exists(filepath.Join(folder, overlay))
	wasSimulated := !hasDisk && exists(folder)
	if wasSimulated || !hasDisk && len(h.running) >= h.Limit {
		return nil, false
	}
	if h.running == nil {
		h.running = map[string]chan struct{}{}
	}
	h.running[folder] = make(chan struct{})
	return nil, true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Give releases the folder of a machine that has ended.
func (h *Host) Give(folder string) {
	h.lock.Lock()
	defer h.lock.Unlock()
	close(h.running[folder])
	delete(h.running, folder)
}
