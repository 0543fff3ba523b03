//! Clients that work beside a test.

use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the client, also if the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a client in a thread during `work`. The client must return soon once its argument is true.
pub(crate) fn beside<T: Send>(
    client: impl FnOnce(&AtomicBool) -> T + Send,
    work: impl FnOnce(),
) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| client(&done));
        let end = End(&done);
        work();
        drop(end);
        client.join().unwrap()
    })
}
