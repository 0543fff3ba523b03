//! A shoot on servers of which some answer with an attack, and what a command does there.

use super::fake_api::{Attack, FakeApi, FakeRequest, Target};
use crate::support::kvshoot::Kvshoot;
use crate::support::process::{peak_memory, time_without_cpu};
use crate::support::small_shoots::Small;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Peak memory of a command, in KiB.
pub(super) const MAX_MEMORY: u64 = 256 << 10;
/// Silence of a command, apart from the time that it waits for a CPU, which other tests use too.
pub(super) const MAX_SILENCE: Duration = Duration::from_secs(5);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);
/// Time until a command without end is ended, and until it is killed: on a busy computer, these tests are about memory and
/// silence, not about time limits.
const RUN: Duration = Duration::from_secs(12);
const LIMIT: Duration = Duration::from_secs(60);

/// Exit code of a panic.
pub(super) const BUG: i32 = 70;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
pub(super) static NUMBER: AtomicU64 = AtomicU64::new(100);

pub(super) const KEEP: &str = "keep dev";
/// It may succeed: nothing that it needs comes from a watch.
pub(super) const DELETE: &str = "delete dev --yes --timeout 12s";

/// Writes pieces until the client closes the connection.
pub(super) fn endless(out: &mut dyn Write, mut piece: impl FnMut() -> Vec<u8>) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    loop {
        out.write_all(&piece())?;
        out.flush()?;
    }
}

/// Leaves a request without a response.
pub(super) fn no_response(_: &FakeRequest, _: &mut dyn Write) -> io::Result<()> {
    thread::sleep(LIMIT);
    Err(io::ErrorKind::TimedOut.into())
}

/// A response that never gets to its end, a byte a second.
pub(super) fn slow(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || {
        thread::sleep(Duration::from_secs(1));
        vec![b' ']
    })
}

/// What a command did.
pub(super) struct Measured {
    pub(super) code: Option<i32>,
    /// In KiB.
    pub(super) memory: u64,
    /// The longest time without output, minus what the command waited for a CPU in that time.
    pub(super) silence: Duration,
    pub(super) text: String,
}

/// Runs a command, and ends it after a while if it has no end.
pub(super) fn measure(kvshoot: &Kvshoot, line: &str) -> Measured {
    let program = Path::new(env!("CARGO_BIN_EXE_kvshoot"));
    let mut command = kvshoot.command(program, line.split_whitespace());
    let mut child = command.spawn().unwrap();
    let (sender, pieces) = mpsc::channel();
    let streams: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().unwrap()),
        Box::new(child.stderr.take().unwrap()),
    ];
    for mut stream in streams {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                let _ = sender.send((Instant::now(), buffer[..length].to_vec()));
            }
        });
    }
    drop(sender);
    let (begun, mut memory, mut waits) = (Instant::now(), 0, Vec::new());
    let is_endless = line == KEEP || line.ends_with(" --follow");
    let code = loop {
        memory = peak_memory(child.id()).unwrap_or_default().max(memory);
        // Less often, since it reads a file of each thread.
        if waits
            .last()
            .is_none_or(|it: &(Instant, _)| it.0.elapsed() > SAMPLE_INTERVAL)
        {
            waits.push((Instant::now(), time_without_cpu(child.id())));
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        match begun.elapsed() {
            time if time > LIMIT => child.kill().unwrap(),
            time if time > RUN && is_endless => {
                kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            }
            _ => {}
        }
        thread::sleep(Duration::from_millis(5));
    };
    let ended = Instant::now();
    let (mut times, mut text) = (vec![begun], Vec::new());
    for (at, piece) in pieces {
        times.push(at);
        text.extend(piece);
    }
    times.push(ended);
    let silences = times.windows(2).map(|it| silence(it[0], it[1], &waits));
    Measured {
        code,
        memory,
        silence: silences.max().unwrap_or_default(),
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// Time between two pieces of output, minus what the command waited for a CPU according to samples of that time.
fn silence(from: Instant, to: Instant, waits: &[(Instant, Duration)]) -> Duration {
    let until = |at| {
        waits
            .iter()
            .rfind(|it| it.0 <= at)
            .map_or(Duration::ZERO, |it| it.1)
    };
    to.saturating_duration_since(from)
        .saturating_sub(until(to).saturating_sub(until(from)))
}

/// A shoot in a fake provider cluster, as far as it can be applied there.
pub(super) struct Scene {
    pub(super) fake: FakeApi,
    pub(super) kvshoot: Kvshoot,
}

impl Scene {
    pub(super) fn new() -> Scene {
        let fake = FakeApi::start();
        let shoot = Small {
            network: false,
            ..Small::new("dev")
        };
        let kvshoot = Kvshoot::new()
            .env("KUBECONFIG", "config")
            .file("config", &fake.kubeconfig())
            .file("shoot.yaml", &shoot.manifest());
        let mut first = kvshoot.start("apply -f shoot.yaml");
        let begun = Instant::now();
        let all = [
            "/configmaps/shoot--local--dev",
            "/secrets/shoot--local--dev-ca",
            "/secrets/shoot--local--dev-etcd-ca",
            "/secrets/shoot--local--dev-front-proxy-ca",
            "/secrets/shoot--local--dev-service-account-key",
            "/secrets/shoot--local--dev-encryption-key",
            "/services/shoot--local--dev-kube-apiserver",
        ];
        while all.iter().any(|it| fake.objects(it).is_empty()) {
            if begun.elapsed() > LIMIT {
                first.signal(Signal::TERM);
                panic!("{}", first.wait());
            }
            thread::sleep(Duration::from_millis(20));
        }
        first.signal(Signal::KILL);
        let _ = first.wait_at_most(LIMIT);
        let record = fake.objects(all[0]).remove(0);
        let deployment = "shoot--local--dev-kube-apiserver";
        if fake
            .objects(&format!("/deployments/{deployment}"))
            .is_empty()
        {
            fake.create(
                "/apis/apps/v1/namespaces/shoots/deployments",
                json!({
                    "metadata": { "name": deployment, "labels": {
                        "app.kubernetes.io/managed-by": "kvshoot",
                        "app.kubernetes.io/part-of": "shoot--local--dev",
                        "kvshoot.io/shoot-uid": record["metadata"]["uid"],
                    } },
                    "spec": { "replicas": 1 },
                }),
            );
        }
        fake.serve_shoot(&fake.objects(all[1])[0]);
        Scene { fake, kvshoot }
    }

    /// Runs a command under an attack.
    pub(super) fn suffers(
        &self,
        target: Target,
        (name, attack): (&str, Attack),
        line: &str,
    ) -> String {
        self.fake.attack(target, attack);
        let done = measure(&self.kvshoot, line);
        let (memory, silence) = (done.memory >> 10, done.silence);
        println!(
            "{name}: {line}: {memory} MiB, silent for {silence:.1?}, exit code {:?}",
            done.code
        );
        let start: String = done.text.chars().take(4_000).collect();
        assert!(
            done.code
                .is_some_and(|it| it != BUG && (it != 0 || line == DELETE)),
            "{name}: {line}: {start}"
        );
        assert!(
            done.memory < MAX_MEMORY,
            "{name}: {line}: {memory} MiB: {start}"
        );
        assert!(
            silence < MAX_SILENCE,
            "{name}: {line}: {silence:?}: {start}"
        );
        assert!(done.text.len() < 1 << 20, "{name}: {line}: {start}");
        done.text
    }
}
