//! The packaged crate, which `cargo install kvshoot` builds, and its ways to get the programs of the sandbox.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// An installed crate with a home directory. Deletes its sandbox at the end.
struct Installed {
    program: PathBuf,
    kvshoot: Kvshoot,
}

impl Installed {
    fn new(program: &Path) -> Installed {
        let program = program.to_owned();
        let kvshoot = Kvshoot::new();
        // Neither Go nor programs of the sandbox.
        let kvshoot = kvshoot
            .env("PATH", "/nonexistent")
            .env("KVSHOOT_SANDBOX", &name());
        Installed { program, kvshoot }
    }

    fn run(&self, line: &str) -> Output {
        self.kvshoot.program(&self.program, line.split_whitespace())
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = self.run("sandbox reset");
    }
}

/// Name of the sandbox.
fn name() -> String {
    format!("it-{}-package", std::process::id())
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{report}");
}

/// Returns the folder with the programs of the sandbox, which are built once.
fn built_programs() -> PathBuf {
    let install = || provider::program(&["sandbox", "install"]).output().unwrap();
    let _ = install();
    let installed = String::from_utf8(install().stderr).unwrap();
    Path::new(installed.trim().rsplit(' ').next().unwrap()).join("bin")
}

/// Archives programs as a release does. Returns the archive.
fn archive(programs: &Path, folder: &Path) -> PathBuf {
    let digest = programs.parent().unwrap().file_name().unwrap();
    let name = format!(
        "kvshoot-sandbox-{}-linux-{}.tar.gz",
        digest.to_str().unwrap(),
        std::env::consts::ARCH
    );
    let path = folder.join(name);
    let files = std::fs::read_dir(programs).unwrap().map(|it| it.unwrap());
    let files = files.filter(|it| it.file_type().unwrap().is_file());
    let names: Vec<_> = files
        .map(|it| it.file_name())
        .filter(|it| it != "sandbox-cdi")
        .collect();
    let mut tar = Command::new("tar");
    tar.env("GZIP", "-1")
        .arg("-czf")
        .arg(&path)
        .arg("-C")
        .arg(programs);
    succeed(tar.args(names));
    path
}

/// Serves a file for every request. Returns the URL.
fn serve(file: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines
                .map_while(Result::ok)
                .take_while(|it| !it.is_empty())
                .for_each(drop);
            let mut content = std::fs::File::open(&file).unwrap();
            let length = content.metadata().unwrap().len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = std::io::copy(&mut content, &mut stream);
        }
    });
    url
}

/// Builds the crate from its package, with an archive of the sandbox's programs. Returns the program.
fn install_package(archive: &Path, folder: &Path) -> PathBuf {
    let cargo = || Command::new(env!("CARGO"));
    let package = [
        "package",
        "--locked",
        "--no-verify",
        "--allow-dirty",
        "--target-dir",
    ];
    succeed(cargo().args(package).arg(folder));
    let crate_name = concat!("kvshoot-", env!("CARGO_PKG_VERSION"));
    let packed = folder.join(format!("package/{crate_name}.crate"));
    succeed(
        Command::new("tar")
            .arg("-xzf")
            .arg(packed)
            .arg("-C")
            .arg(folder),
    );
    let sources = folder.join(crate_name);
    let index = Command::new("packaging/archives-index")
        .arg(archive)
        .output()
        .unwrap();
    std::fs::write(
        sources.join("src/sandbox/install/archives.json"),
        index.stdout,
    )
    .unwrap();
    let install = ["install", "--locked", "--debug", "--path"];
    let root = folder.join("root");
    succeed(cargo().args(install).arg(sources).arg("--root").arg(&root));
    root.join("bin/kvshoot")
}

#[test]
#[ignore = "slow: builds the packaged crate with all dependencies; minutes of two cores"]
fn the_packaged_crate_installs_its_sandbox_and_creates_a_cluster() {
    let folder = TempDir::new().unwrap();
    let programs = built_programs();
    let archive = archive(&programs, folder.path());
    let program = install_package(&archive, folder.path());

    let unreachable = Installed::new(&program);
    let output = unreachable.run("sandbox install --mirror http://127.0.0.1:1");
    assert_eq!(output.code, 4, "{output}");
    let expected = "cannot download the programs of the sandbox, and Go is not installed";
    assert!(output.err.contains(expected), "{output}");

    let url = serve(archive);
    let downloaded = Installed::new(&program);
    let output = downloaded.run(&format!("sandbox install --mirror {url}"));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains(&format!("from {url}")), "{output}");

    let copied = Installed::new(&program);
    let output = copied.run(&format!("sandbox install --from {}", programs.display()));
    assert_eq!(output.code, 0, "{output}");
    let manifest = std::fs::canonicalize("examples/minimal.yaml").unwrap();
    let output = copied.run(&format!("apply -f {}", manifest.display()));
    assert_eq!(output.code, 0, "{output}");
    assert!(output.err.contains("Created shoot"), "{output}");
    let output = copied.run("delete minimal --yes");
    assert_eq!(output.code, 0, "{output}");
}
