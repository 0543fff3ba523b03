// Command sandbox-cdi-crds writes CDI's CustomResourceDefinitions to a folder. It is a separate
// program because a sandbox with simulated imports needs nothing else of CDI, whose controllers
// take minutes to build.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"kubevirt.io/containerized-data-importer/pkg/operator/resources"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "sandbox-cdi-crds: call it with a folder")
		os.Exit(2)
	}
	names := make([]string, 0, len(resources.CDICRDs))
	for name := range resources.CDICRDs {
		names = append(names, name)
	}
	sort.Strings(names)
	var out strings.Builder
	for _, name := range names {
		out.WriteString("---\n" + strings.TrimSpace(resources.CDICRDs[name]) + "\n")
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], "crd-cdi.yaml"), []byte(out.String()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
