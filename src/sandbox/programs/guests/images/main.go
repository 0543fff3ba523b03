// Command guest-images packs programs into the container images that machines run. Each image has the name that kvshoot
// gives it in its manifests.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"path/filepath"
)

func main() {
	programs := flag.String("programs", "", "folder with the programs")
	system := flag.String("system", "", "root folder of a Debian system, for programs and libraries that are not built here")
	names := flag.String("names", "", "JSON file with the name of each component's image")
	output := flag.String("output", "", "OCI archive to write")
	flag.Parse()
	if err := pack(*programs, *system, *names, *output); err != nil {
		log.Fatal(err)
	}
}

func pack(programs, system, namesFile, output string) error {
	text, err := os.ReadFile(namesFile)
	if err != nil {
		return err
	}
	names := map[string]string{}
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(output), "images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	archive := &archive{folder: folder, blobs: map[string]int64{}}
	if err := addImages(archive, sources{programs: programs, system: system}, names); err != nil {
		return err
	}
	return archive.write(output)
}
