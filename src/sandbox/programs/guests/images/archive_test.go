package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// entries reads the names and contents of a tar file.
func entries(t *testing.T, path string) map[string][]byte {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := map[string][]byte{}
	for in := tar.NewReader(file); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnArchiveContainsEachBlobThatItRefersTo(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "program")
	if err := os.WriteFile(program, []byte("binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := &archive{folder: folder, blobs: map[string]int64{}}
	layer, err := a.newLayer(func(l *layer) { l.file("usr/bin/program", program, 0o755, netBindService) })
	if err != nil {
		t.Fatal(err)
	}
	if err := a.addImage("registry.example.org/program:1", image{}, []descriptor{layer}); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(folder, "images.tar")
	if err := a.write(output); err != nil {
		t.Fatal(err)
	}
	found := entries(t, output)
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(found["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	blob := func(d descriptor) []byte { return found["blobs/sha256/"+d.Digest[len("sha256:"):]] }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal(blob(index.Manifests[0]), &manifest); err != nil {
		t.Fatal(err)
	}
	if name := index.Manifests[0].Annotations["io.containerd.image.name"]; name != "registry.example.org/program:1" {
		t.Errorf("the image is called %q", name)
	}
	for _, one := range append(manifest.Layers, manifest.Config) {
		if int64(len(blob(one))) != one.Size {
			t.Errorf("blob %s has %d bytes, expected %d", one.Digest, len(blob(one)), one.Size)
		}
	}
	inside := filepath.Join(folder, "layer.tar")
	if err := os.WriteFile(inside, blob(layer), 0o600); err != nil {
		t.Fatal(err)
	}
	files := entries(t, inside)
	if string(files["usr/bin/program"]) != "binary" || files["usr/"] == nil || files["usr/bin/"] == nil {
		t.Errorf("the layer has %v", files)
	}
}

func TestAnImageWithoutNameIsRefused(t *testing.T) {
	a := &archive{folder: t.TempDir(), blobs: map[string]int64{}}
	if err := addComponent(a, sources{}, content{component: "pause"}, map[string]string{}); err == nil {
		t.Error("no error")
	}
}

// As `setcap cap_net_bind_service+ep` writes it.
func TestCapabilitiesAreWrittenAsLinuxReadsThem(t *testing.T) {
	if found := capabilitySet([]uint{netBindService}); found != "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("found %q", found)
	}
}
