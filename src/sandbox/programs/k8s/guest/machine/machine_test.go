package machine

import (
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAServerThatIsUnreachableForAMomentIsNotReported(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	end()
	// A machine that has stopped creates no Events, but it still counts warnings.
	m := New(ctx, Config{VMI: &unstructured.Unstructured{Object: map[string]any{}}})
	m.Warn(Unreachable, os.ErrDeadlineExceeded)
	m.Warn("KubeletFailed", os.ErrInvalid)
	unreachable, failed := m.warned[Unreachable+os.ErrDeadlineExceeded.Error()], m.warned["KubeletFailed"+os.ErrInvalid.Error()]
	if unreachable.IsZero() || !failed.IsZero() {
		t.Errorf("%v, %v", unreachable, failed)
	}
}
