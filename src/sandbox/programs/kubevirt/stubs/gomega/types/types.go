// Package types has the interface of gomega's matchers.
package types

// GomegaMatcher is the interface that KubeVirt's matchers implement.
type GomegaMatcher interface {
	Match(actual any) (success bool, err error)
	FailureMessage(actual any) string
	NegatedFailureMessage(actual any) string
}
