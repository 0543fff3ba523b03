//! Servers that answer slowly or with too much.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::process::peak_memory;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// Peak memory of one command, in KiB.
const MAX_MEMORY: u64 = 256 << 10;

/// Starts a server that responds to the target of each request with `respond`, and returns kvshoot with its kubeconfig.
fn kvshoot(respond: fn(&str) -> Option<String>) -> Kvshoot {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            thread::spawn(move || serve(connection.unwrap(), respond));
        }
    });
    let kubeconfig = format!(
        "clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a}}}}]\ncurrent-context: a\n"
    );
    Kvshoot::new()
        .env("KUBECONFIG", "config")
        .file("config", &kubeconfig)
}

/// Responds until the client closes the connection. A request without a response is never answered.
fn serve(mut connection: TcpStream, respond: fn(&str) -> Option<String>) {
    let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
    while let Some(Ok(request)) = lines.next() {
        let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_header =
            |line: &std::io::Result<String>| line.as_ref().is_ok_and(|it| !it.is_empty());
        let _ = lines.by_ref().take_while(is_header).count();
        let Some(body) = respond(&target) else {
            // Until the client gives up.
            let _ = lines.next();
            return;
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
        let response = format!("{head}{}\r\n\r\n{body}", body.len());
        if connection.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_command_says_after_a_few_seconds_what_it_waits_for() {
    let kvshoot = kvshoot(|_| None);
    let mut running = kvshoot.start("list");
    running.wait_for(
        " (list configmaps in namespace default)",
        Duration::from_secs(10),
    );
    running.interrupt();
    let output = running.wait();
    assert!(
        output.err.contains("Waiting for http://127.0.0.1:"),
        "{output}"
    );
    let mut quiet = kvshoot.start("list --quiet");
    let output = quiet.wait_at_most(LIMIT);
    assert!(!output.err.contains("Waiting for"), "{output}");
    assert_eq!(output.code, 4, "{output}");
}

/// 6 MB of objects, and always another page.
fn endless_pages(target: &str) -> Option<String> {
    let number = target.len();
    let token = match target.rsplit_once("continue=t") {
        Some((_, token)) => token.split('&').next()?.parse::<u64>().ok()? + 1,
        None => 0,
    };
    let text = "x".repeat(60_000);
    let object = format!(
        r#"{{"metadata": {{"name": "o", "namespace": "default", "uid": "u{number}", "annotations": {{"a": "{text}"}}}}}}"#
    );
    let items = vec![object; 100].join(",");
    Some(format!(
        r#"{{"metadata": {{"resourceVersion": "1", "continue": "t{token}"}}, "items": [{items}]}}"#
    ))
}

/// Few bytes that take much memory once they are parsed.
fn many_values(_: &str) -> Option<String> {
    let values = vec![r#"{"a":0}"#; 2_000_000].join(",");
    Some(format!(r#"{{"metadata": {{}}, "items": [{values}]}}"#))
}

/// Runs a command, and returns its peak memory too.
fn measured(kvshoot: &Kvshoot, line: &str) -> (Output, u64) {
    let mut running = kvshoot.start(line);
    let process = running.pid().as_raw_nonzero().get().unsigned_abs();
    let sampler = thread::spawn(move || {
        let mut peak = 0;
        while let Some(memory) = peak_memory(process) {
            peak = memory.max(peak);
            thread::sleep(Duration::from_millis(2));
        }
        peak
    });
    let output = running.wait_at_most(LIMIT);
    (output, sampler.join().unwrap())
}

#[test]
fn no_server_uses_up_the_memory_of_a_command() {
    for (name, respond) in [
        ("endless pages", endless_pages as fn(&str) -> Option<String>),
        ("many values", many_values),
    ] {
        let kvshoot = kvshoot(respond);
        for line in ["list", "gc --dry-run", "why x", "doctor"] {
            let (output, memory) = measured(&kvshoot, line);
            println!("{name}: {line}: {} MiB", memory >> 10);
            assert!([4, 9].contains(&output.code), "{line}: {output}");
            assert!(memory < MAX_MEMORY, "{name}: {line}: {memory} KiB");
        }
    }
}
