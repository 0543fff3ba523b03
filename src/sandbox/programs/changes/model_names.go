package api

import (
	"maps"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
)

// GetOpenAPIDefinitions returns the generated definitions, those of Kubernetes' types under two names:
// kube-openapi looks them up by the model names that the types have since Kubernetes 1.35, and KubeVirt
// was generated before.
func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := generatedDefinitions(ref)
	for name, definition := range maps.Clone(definitions) {
		if rest, found := strings.CutPrefix(name, "k8s.io/"); found {
			definitions["io.k8s."+strings.ReplaceAll(rest, "/", ".")] = definition
		}
	}
	return definitions
}
