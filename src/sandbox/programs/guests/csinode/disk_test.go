package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDisksAreFoundByTheirSerialNumber(t *testing.T) {
	folder := t.TempDir()
	for path, text := range map[string]string{
		"vda/serial":             "root\n",
		"sda/device/vpd_pg80":    "\x00\x80\x00\x24pvc-1 \x00",
		"sdb/device/vpd_pg80":    "\x00",
		"loop0/queue/rotational": "1",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for serial, expected := range map[string]string{"root": "/dev/vda", "pvc-1": "/dev/sda"} {
		if found, err := findDisk(folder, serial); err != nil || found != expected {
			t.Errorf("%s: found %q, %v", serial, found, err)
		}
	}
	for _, serial := range []string{"", "pvc", "pvc-2"} {
		if found, err := findDisk(folder, serial); err == nil {
			t.Errorf("%q: found %s", serial, found)
		}
	}
}

func TestEndpointsAreURLsOrPaths(t *testing.T) {
	for _, endpoint := range []string{"unix:/csi/csi.sock", "unix:///csi/csi.sock", "/csi/csi.sock"} {
		if found := socketPath(endpoint); found != "/csi/csi.sock" {
			t.Errorf("%s: found %s", endpoint, found)
		}
	}
}
