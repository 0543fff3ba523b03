package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const libraryFolder = "usr/lib/x86_64-linux-gnu"

// sources are the folders that images are made of.
type sources struct {
	// programs has the programs that are built here.
	programs string
	// system is the root folder of a Debian system.
	system string
}

// libraries returns the shared libraries that a program needs and the loader, as paths in the Debian system.
func (s sources) libraries(program string) ([]string, error) {
	found := []string{}
	queue := []string{program}
	for len(queue) > 0 {
		needed, err := imported(queue[0])
		if err != nil {
			return nil, err
		}
		queue = queue[1:]
		for _, name := range needed {
			library := filepath.Join(libraryFolder, name)
			if name == "ld-linux-x86-64.so.2" {
				// Programs contain this path.
				library = "usr/lib64/" + name
			}
			if slices.Contains(found, library) {
				continue
			}
			path := filepath.Join(s.system, library)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s needs the library %s, which the system does not have", program, library)
			}
			found = append(found, library)
			queue = append(queue, path)
		}
	}
	return found, nil
}

// imported returns the names of the libraries that a program or library names itself.
func imported(path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer file.Close()
	needed, err := file.ImportedLibraries()
	if err == nil && file.Section(".interp") != nil {
		needed = append(needed, "ld-linux-x86-64.so.2")
	}
	return needed, err
}
