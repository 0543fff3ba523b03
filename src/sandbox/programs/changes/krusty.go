// Package krusty replaces kustomize, which kubectl links and which no command of the sandbox uses.
package krusty

import (
	"errors"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ReorderOptionLegacy is the order that kubectl asks for.
const ReorderOptionLegacy = "legacy"

// Options are ignored.
type Options struct{ Reorder string }

// MakeDefaultOptions returns empty options.
func MakeDefaultOptions() *Options { return &Options{} }

// Kustomizer fails.
type Kustomizer struct{}

// MakeKustomizer returns a Kustomizer.
func MakeKustomizer(*Options) *Kustomizer { return &Kustomizer{} }

// Run fails.
func (*Kustomizer) Run(filesys.FileSystem, string) (Resources, error) {
	return Resources{}, errors.New("kubectl of the sandbox has no kustomize")
}

// Resources are the result of a build.
type Resources struct{}

// AsYaml returns nothing.
func (Resources) AsYaml() ([]byte, error) { return nil, nil }
