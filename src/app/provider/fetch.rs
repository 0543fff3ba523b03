//! Downloads for the sandbox, which is installed without an async runtime.

use crate::cluster::FileStream;
use crate::sandbox::RemoteFile;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use tokio::runtime::Builder;

/// Pieces that are read ahead.
const AHEAD: usize = 16;

/// Requests a file from a byte on, and reads it on a separate thread.
pub(crate) fn fetch(url: &str, offset: u64) -> Result<RemoteFile, String> {
    let (opened, answer) = sync_channel(1);
    let (sender, pieces) = sync_channel(AHEAD);
    let url = url.to_owned();
    thread::spawn(move || {
        match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                runtime.block_on(read(&url, offset, &opened, &sender));
                // A name that is still being resolved must not delay the end.
                runtime.shutdown_background();
            }
            // The receiver waits for this message.
            Err(error) => drop(opened.send(Err(error.to_string()))),
        }
    });
    let offset = receive(&answer)??;
    Ok(RemoteFile { offset, pieces })
}

fn receive<T>(answer: &Receiver<T>) -> Result<T, String> {
    answer
        .recv()
        .map_err(|_| "the download ended early".to_owned())
}

/// Sends the pieces of a file until its end, or until the receiver is gone.
async fn read(
    url: &str,
    offset: u64,
    opened: &SyncSender<Result<u64, String>>,
    pieces: &SyncSender<Result<Vec<u8>, String>>,
) {
    let mut file = match FileStream::open(url, offset).await {
        Ok(file) => file,
        Err(error) => return drop(opened.send(Err(error))),
    };
    let mut received = opened.send(Ok(file.offset)).is_ok();
    while received && let Some(piece) = file.next().await {
        let failed = piece.is_err();
        received = pieces.send(piece).is_ok() && !failed;
    }
}
