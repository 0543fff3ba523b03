use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    kvshoot::run(kvshoot::Cli::parse())
}
