package options

import "github.com/spf13/pflag"

// addCadvisorFlags adds the flags of cAdvisor, which have no effect: no machine of the sandbox runs it.
func addCadvisorFlags(flags *pflag.FlagSet) {
	for _, name := range []string{
		"housekeeping_interval",
		"application_metrics_count_limit",
		"boot_id_file",
		"container_hints",
		"containerd",
		"enable_load_reader",
		"event_storage_age_limit",
		"event_storage_event_limit",
		"global_housekeeping_interval",
		"log_cadvisor_usage",
		"machine_id_file",
		"storage_driver_user",
		"storage_driver_password",
		"storage_driver_host",
		"storage_driver_db",
		"storage_driver_table",
		"storage_driver_secure",
		"storage_driver_buffer_duration",
		"containerd-namespace",
	} {
		flags.String(name, "", "")
	}
}
