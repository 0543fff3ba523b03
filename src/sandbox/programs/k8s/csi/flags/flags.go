// Package flags parses the command lines of the CSI programs.
package flags

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
)

// New returns a set with klog's flags. An unknown flag exits the program.
func New() *flag.FlagSet {
	set := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	klog.InitFlags(set)
	return set
}

// Parse parses the arguments, and logs that the program is a stand-in.
func Parse(set *flag.FlagSet, args []string) error {
	_ = set.Parse(args)
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	klog.InfoS("this is the sandbox's stand-in", "program", set.Name())
	return nil
}
