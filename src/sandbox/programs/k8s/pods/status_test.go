package pods

import (
	"encoding/json"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// The API server returns times in seconds. A status with other times would be written again
// every second, by every pod.
func TestAWrittenStatusIsNotWrittenAgain(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	w := newWorker(&Runner{Config: Config{HostIP: func(string) string { return "10.0.0.1" }}}, pod, "127.0.0.1")
	for _, c := range w.containers {
		c.process = &process{started: time.Unix(1700000000, 123456789), ended: time.Unix(1700000009, 987654321)}
		c.ran = true
		c.running()
	}
	w.ended(w.containers[1])
	written := pod.DeepCopy()
	w.describe(written)
	text, err := json.Marshal(written)
	if err != nil {
		t.Fatal(err)
	}
	read := &v1.Pod{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	again := read.DeepCopy()
	w.describe(again)
	if !equality.Semantic.DeepEqual(read.Status, again.Status) {
		t.Errorf("read %+v, then described %+v", read.Status, again.Status)
	}
}
