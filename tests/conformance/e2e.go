//go:build tools

// Package conformance has Kubernetes' own tests as a dependency, so that go.mod and go.sum name all that they are built
// of. To build them: go test -c -o e2e.test k8s.io/kubernetes/test/e2e
package conformance

import _ "k8s.io/kubernetes/test/e2e"
