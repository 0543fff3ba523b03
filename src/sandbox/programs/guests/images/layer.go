package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// netBindService is the capability to listen on ports below 1024.
const netBindService = 10

// layer is a file system that is being made. The first error ends it.
type layer struct {
	out   *tar.Writer
	known map[string]bool
	err   error
}

// newLayer adds the layer that fill makes.
func (a *archive) newLayer(fill func(*layer)) (descriptor, error) {
	return a.add("layer.v1.tar", func(w io.Writer) error {
		l := &layer{out: tar.NewWriter(w), known: map[string]bool{}}
		fill(l)
		if l.err != nil {
			return l.err
		}
		return l.out.Close()
	})
}

// isNew reports whether the layer has nothing of this name yet, and adds the folders above it.
func (l *layer) isNew(name string) bool {
	if l.err != nil || l.known[name] {
		return false
	}
	l.known[name] = true
	if parent := path.Dir(name); parent != "." {
		l.folder(parent, 0o755)
	}
	return true
}

func (l *layer) add(header *tar.Header, content io.Reader) {
	if l.err = l.out.WriteHeader(header); l.err == nil {
		_, l.err = io.Copy(l.out, content)
	}
}

func (l *layer) folder(name string, mode int64) {
	if l.isNew(name) {
		l.add(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: mode}, strings.NewReader(""))
	}
}

func (l *layer) link(name, target string) {
	if l.isNew(name) {
		l.add(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}, strings.NewReader(""))
	}
}

func (l *layer) text(name, text string) {
	if l.isNew(name) {
		l.add(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}, strings.NewReader(text))
	}
}

// file copies a file of this computer, following links.
func (l *layer) file(name, source string, mode int64, capabilities ...uint) {
	if !l.isNew(name) {
		return
	}
	content, err := os.ReadFile(source)
	if err != nil {
		l.err = err
		return
	}
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content))}
	if len(capabilities) > 0 {
		header.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": capabilitySet(capabilities)}
	}
	l.add(header, bytes.NewReader(content))
}

// capabilitySet is the attribute of a file that gives it these capabilities: struct vfs_cap_data of Linux.
func capabilitySet(capabilities []uint) string {
	const revision2, effective = 0x02000000, 1
	permitted := uint32(0)
	for _, one := range capabilities {
		permitted |= 1 << one
	}
	data := make([]byte, 20)
	binary.LittleEndian.PutUint32(data, revision2|effective)
	binary.LittleEndian.PutUint32(data[4:], permitted)
	return string(data)
}

// program copies a program of the Debian system, with its libraries.
func (l *layer) program(from sources, name string) {
	source := filepath.Join(from.system, name)
	l.file(name, source, 0o755)
	if l.err != nil {
		return
	}
	libraries, err := from.libraries(source)
	if err != nil {
		l.err = err
		return
	}
	for _, library := range libraries {
		l.file(library, filepath.Join(from.system, library), 0o755)
	}
}
