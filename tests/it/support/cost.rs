//! The cost of a cluster: memory of its control plane, and time until its nodes are ready.

use super::provider::Provider;
use super::shoots::Manifest;
use std::fs;
use std::time::{Duration, Instant};

/// Memory in MiB of the control planes in the namespace, from the table of `sandbox status`. It is printed with the
/// proportional memory.
pub(crate) fn control_plane_memory(provider: &Provider) -> u64 {
    let owner = format!(" of {}/", provider.namespace);
    let status = provider.status();
    let mut total = (0, 0);
    for line in status.lines().filter(|it| it.contains(&owner)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["MiB", resident, "running", pid, pod, "of", program] =
            *words.iter().rev().copied().collect::<Vec<_>>()
        else {
            panic!("not a process: {line}")
        };
        let (resident, own): (u64, u64) = (resident.parse().unwrap(), proportional(pid));
        println!("{resident:>5} MiB, {own:>4} MiB proportional: {program} of {pod}");
        total = (total.0 + resident, total.1 + own);
    }
    println!("{:>5} MiB, {:>4} MiB proportional: total", total.0, total.1);
    total.0
}

/// Proportional memory of a process in MiB: shared pages are divided among their users.
fn proportional(pid: &str) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = rollup.lines().find(|it| it.starts_with("Pss:")).unwrap();
    let kibibytes = line.split_whitespace().nth(1).unwrap();
    kibibytes.parse::<u64>().unwrap() / 1024
}

/// Applies a manifest and returns the time until all nodes were ready.
pub(crate) fn timed_apply(provider: &Provider, manifest: &Manifest) -> Duration {
    let start = Instant::now();
    let output = provider
        .kvshoot_with(manifest)
        .run("apply -f shoot.yaml --timeout 10m");
    let took = start.elapsed();
    assert_eq!(output.code, 0, "{output}");
    println!("{}: ready after {took:.1?}", manifest.name());
    took
}
