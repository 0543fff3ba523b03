// Package echo is a small program for tests of pods: it serves its files, arguments and environment.
package echo

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Main serves HTTP until a request to /crash, or exits at once with --exit.
func Main() int {
	set := flag.NewFlagSet("sandbox-echo", flag.ExitOnError)
	listen := set.String("listen", "127.0.0.1:0", "address and port to serve at")
	code := set.Int("exit", -1, "end at once, with this code")
	_ = set.Parse(os.Args[1:])
	fmt.Println("echo begins")
	if *code >= 0 {
		fmt.Fprintln(os.Stderr, "told to end with", *code)
		return *code
	}
	http.HandleFunc("/file/", func(w http.ResponseWriter, request *http.Request) {
		path := strings.TrimPrefix(request.URL.Path, "/file")
		text, err := os.ReadFile(path)
		if entries, failed := os.ReadDir(path); failed == nil {
			text, err = fmt.Append(nil, entries), nil
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		_, _ = w.Write(text)
	})
	http.HandleFunc("/append/", func(w http.ResponseWriter, request *http.Request) {
		file, err := os.OpenFile(strings.TrimPrefix(request.URL.Path, "/append"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(file, "echo was here")
			_ = file.Close()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	http.HandleFunc("/self", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"args": os.Args, "env": os.Environ(), "uid": os.Getuid()})
	})
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	http.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "told to crash")
		os.Exit(3)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*listen, nil))
	return 1
}
