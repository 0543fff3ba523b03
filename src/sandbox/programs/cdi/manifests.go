package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-logr/logr"
	"kubevirt.io/containerized-data-importer/pkg/operator/resources"
	"kubevirt.io/containerized-data-importer/pkg/operator/resources/cluster"
	"sigs.k8s.io/yaml"
)

// manifests writes one YAML file each for CustomResourceDefinitions, roles, webhooks and API services.
func manifests(dir string) error {
	files := map[string][]map[string]any{}
	args := &cluster.FactoryArgs{Namespace: namespace, Logger: logr.Discard()}
	for _, group := range []string{"apiserver-rbac", "controller-rbac", "aggregate-roles"} {
		objects, err := cluster.CreateStaticResourceGroup(group, args)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := add(files, "cdi-rbac", object); err != nil {
				return err
			}
		}
	}
	objects, err := cluster.CreateAllDynamicResources(args)
	if err != nil {
		return err
	}
	for _, object := range objects {
		file := "cdi-webhooks"
		if object.GetObjectKind().GroupVersionKind().Kind == "APIService" {
			file = "cdi-apiservices"
		}
		if err := add(files, file, object); err != nil {
			return err
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		list := files[name]
		sort.Slice(list, func(a, b int) bool { return title(list[a]) < title(list[b]) })
		var out bytes.Buffer
		for _, fields := range list {
			delete(fields, "status")
			if metadata, ok := fields["metadata"].(map[string]any); ok {
				delete(metadata, "creationTimestamp")
			}
			text, err := yaml.Marshal(fields)
			if err != nil {
				return err
			}
			out.WriteString("---\n")
			out.Write(text)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), out.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s.yaml: %d objects, %d bytes\n", name, len(list), out.Len())
	}
	return os.WriteFile(filepath.Join(dir, "crd-cdi.yaml"), []byte(definitions()), 0o644)
}

// definitions returns CDI's CustomResourceDefinitions in YAML.
func definitions() string {
	names := make([]string, 0, len(resources.CDICRDs))
	for name := range resources.CDICRDs {
		names = append(names, name)
	}
	sort.Strings(names)
	var out strings.Builder
	for _, name := range names {
		out.WriteString("---\n" + strings.TrimSpace(resources.CDICRDs[name]) + "\n")
	}
	return out.String()
}

func add(files map[string][]map[string]any, file string, object any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	files[file] = append(files[file], fields)
	return nil
}

func title(fields map[string]any) string {
	metadata, _ := fields["metadata"].(map[string]any)
	return fmt.Sprint(fields["kind"], metadata["name"])
}
