package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
)

const mediaType = "application/vnd.oci.image."

// descriptor refers to a blob, as specified by the Open Container Initiative.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// archive is an OCI archive that is being made. Its blobs are files of a folder until it is written.
type archive struct {
	folder string
	// Size of each blob, by its digest.
	blobs     map[string]int64
	manifests []descriptor
}

// image is what a container of an image starts with.
type image struct {
	Entrypoint []string `json:",omitempty"`
	Cmd        []string `json:",omitempty"`
	User       string   `json:",omitempty"`
	Env        []string
}

// add adds a blob that write produces.
func (a *archive) add(kind string, write func(io.Writer) error) (descriptor, error) {
	file, err := os.CreateTemp(a.folder, "blob-")
	if err != nil {
		return descriptor{}, err
	}
	defer file.Close()
	hash := sha256.New()
	if err := write(io.MultiWriter(file, hash)); err != nil {
		return descriptor{}, err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return descriptor{}, err
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	a.blobs[digest] = size
	return descriptor{MediaType: mediaType + kind, Digest: "sha256:" + digest, Size: size}, os.Rename(file.Name(), filepath.Join(a.folder, digest))
}

func (a *archive) addJSON(kind string, value any) (descriptor, error) {
	return a.add(kind, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
}

// addImage adds an image of layers, lowest first. Layers are not compressed, because an emulated processor takes long to
// decompress them.
func (a *archive) addImage(name string, start image, layers []descriptor) error {
	start.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	digests := []string{}
	for _, layer := range layers {
		digests = append(digests, layer.Digest)
	}
	config, err := a.addJSON("config.v1+json", map[string]any{
		"architecture": "amd64", "os": "linux", "config": start,
		"rootfs": map[string]any{"type": "layers", "diff_ids": digests},
	})
	if err != nil {
		return err
	}
	manifest, err := a.addJSON("manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": mediaType + "manifest.v1+json", "config": config, "layers": layers,
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
	a.manifests = append(a.manifests, manifest)
	return err
}

// write writes the archive to a file.
func (a *archive) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := tar.NewWriter(file)
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": mediaType + "index.v1+json", "manifests": a.manifests})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index} {
		if err := writeEntry(out, name, int64(len(text)), bytes.NewReader(text)); err != nil {
			return err
		}
	}
	digests := []string{}
	for digest := range a.blobs {
		digests = append(digests, digest)
	}
	slices.Sort(digests)
	for _, digest := range digests {
		if err := a.writeBlob(out, digest); err != nil {
			return err
		}
	}
	return out.Close()
}

func (a *archive) writeBlob(out *tar.Writer, digest string) error {
	blob, err := os.Open(filepath.Join(a.folder, digest))
	if err != nil {
		return err
	}
	defer blob.Close()
	return writeEntry(out, "blobs/sha256/"+digest, a.blobs[digest], blob)
}

func writeEntry(out *tar.Writer, name string, size int64, from io.Reader) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(out, from)
	return err
}
