package pods

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Default library folders of Debian, Fedora and Alpine.
var libraryFolders = []string{"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// copyLibraries adds the loader and the shared libraries of a program to a root. An image
// would contain them; Go programs need none.
func copyLibraries(root, program string) error {
	needed, err := libraries(program, nil)
	if err != nil {
		return err
	}
	for _, file := range needed {
		source, err := filepath.EvalSymlinks(file)
		if err != nil {
			return err
		}
		target := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := linkOrCopy(source, target); err != nil {
			return err
		}
	}
	return nil
}

// libraries adds a program's loader and shared libraries to the known ones, recursively.
func libraries(program string, known []string) ([]string, error) {
	file, err := elf.Open(program)
	if err != nil {
		// The libraries that a script needs cannot be determined.
		return known, nil
	}
	defer file.Close()
	if section := file.Section(".interp"); section != nil {
		loader, err := section.Data()
		if err != nil {
			return nil, err
		}
		known = append(known, strings.TrimRight(string(loader), "\x00"))
	}
	names, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.ContainsFunc(known, func(path string) bool { return filepath.Base(path) == name }) {
			continue
		}
		found, err := findLibrary(name, file.Machine)
		if err != nil {
			return nil, err
		}
		if known, err = libraries(found, append(known, found)); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// findLibrary returns the first library of a name for the architecture.
func findLibrary(name string, machine elf.Machine) (string, error) {
	for _, folder := range libraryFolders {
		found, _ := filepath.Glob(filepath.Join(folder, name))
		for _, path := range found {
			if file, err := elf.Open(path); err == nil {
				_ = file.Close()
				if file.Machine == machine {
					return path, nil
				}
			}
		}
	}
	return "", fmt.Errorf("library %s: %w", name, os.ErrNotExist)
}
