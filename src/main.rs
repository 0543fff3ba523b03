use std::process::ExitCode;

fn main() -> ExitCode {
    kvshoot::main(std::env::args_os())
}
