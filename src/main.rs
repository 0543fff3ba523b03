use std::alloc::System;
use std::process::ExitCode;
use zeroizing_alloc::ZeroAlloc;

/// Overwrites memory when it is freed, so that no key of a cluster outlives its use.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    kvshoot::main(std::env::args_os())
}
