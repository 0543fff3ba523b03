package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
)

const sysBlock = "/sys/block"

// findDisk returns the device of the disk with a serial number.
func findDisk(folder, serial string) (string, error) {
	if serial == "" {
		return "", fmt.Errorf("the volume has no serial number")
	}
	disks, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, disk := range disks {
		if serialOf(filepath.Join(folder, disk.Name())) == serial {
			return filepath.Join("/dev", disk.Name()), nil
		}
	}
	return "", fmt.Errorf("no disk has the serial number %s", serial)
}

// serialOf returns the serial number of a disk, or nothing.
func serialOf(folder string) string {
	if serial, err := os.ReadFile(filepath.Join(folder, "serial")); err == nil {
		return strings.TrimSpace(string(serial))
	}
	// SCSI: a header of four bytes, then the number.
	page, err := os.ReadFile(filepath.Join(folder, "device/vpd_pg80"))
	if err != nil || len(page) < 4 {
		return ""
	}
	return strings.Trim(string(page[4:]), " \x00")
}

// usageOf returns how full a mounted file system is.
func usageOf(path string) ([]*csi.VolumeUsage, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(path, &found); err != nil {
		return nil, err
	}
	size := int64(found.Bsize)
	return []*csi.VolumeUsage{
		{
			Unit: csi.VolumeUsage_BYTES, Total: int64(found.Blocks) * size,
			Available: int64(found.Bavail) * size, Used: int64(found.Blocks-found.Bfree) * size,
		},
		{
			Unit: csi.VolumeUsage_INODES, Total: int64(found.Files),
			Available: int64(found.Ffree), Used: int64(found.Files - found.Ffree),
		},
	}, nil
}
