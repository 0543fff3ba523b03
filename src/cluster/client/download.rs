//! Download of a single file, with the TLS stack that is used for API servers.

use super::transport::in_flight::InFlight;
use super::transport::response::{ReadError, read_file};
use http::header::{CONTENT_RANGE, LOCATION, RANGE};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::{Client, Config};
use std::time::Duration;
use tokio::time::timeout;

/// Larger than any manifest.
const MAX_BYTES: u64 = 16 << 20;
const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for a pause between two pieces of a large file.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A large file that arrives in pieces.
pub(crate) struct FileStream {
    /// Position of the first byte in the file; 0 if the server does not resume downloads.
    pub(crate) offset: u64,
    body: Body,
}

impl FileStream {
    /// Requests a file over HTTPS or HTTP, without its first `offset` bytes. The caller verifies a digest.
    ///
    /// # Errors
    ///
    /// A message with the cause.
    pub(crate) async fn open(url: &str, offset: u64) -> Result<FileStream, String> {
        let scheme = match url.starts_with("http://") {
            true => "http",
            false => "https",
        };
        let answer = match timeout(TIMEOUT, follow(url, scheme, offset)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(format!("no response within {}s", TIMEOUT.as_secs())),
        };
        let start = match answer.status() {
            StatusCode::PARTIAL_CONTENT => range_start(&answer),
            _ => Some(0),
        };
        match start {
            Some(start) if start == 0 || start == offset => Ok(FileStream {
                offset: start,
                body: answer.into_body(),
            }),
            _ => Err("the server responded with another range of the file".to_owned()),
        }
    }

    /// Returns the next piece, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        loop {
            let frame = match timeout(IDLE_TIMEOUT, self.body.frame()).await {
                Ok(frame) => frame?,
                Err(_) => return Some(Err(format!("no data for {}s", IDLE_TIMEOUT.as_secs()))),
            };
            match frame.map(|it| it.into_data()) {
                Ok(Ok(data)) => return Some(Ok(data.to_vec())),
                // Trailers.
                Ok(Err(_)) => {}
                Err(error) => return Some(Err(root_cause(&error))),
            }
        }
    }
}

/// Returns the first position of `Content-Range: bytes 100-199/200`.
fn range_start(answer: &Response<Body>) -> Option<u64> {
    let range = answer.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    start.parse().ok()
}

/// Downloads a file over HTTPS.
///
/// # Errors
///
/// A message with the cause.
pub(crate) async fn download(url: &str) -> Result<Vec<u8>, String> {
    let _in_flight = InFlight::to(url);
    let whole = async { read_body(follow(url, "https", 0).await?).await };
    match timeout(TIMEOUT, whole).await {
        Ok(bytes) => bytes,
        Err(_) => Err(format!("no response within {}s", TIMEOUT.as_secs())),
    }
}

/// Follows redirects as long as the scheme stays the same. Returns a successful response.
async fn follow(url: &str, scheme: &str, offset: u64) -> Result<Response<Body>, String> {
    let mut url = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        let uri: Uri = url.parse().map_err(|it| format!("{url}: {it}"))?;
        let (Some(given), Some(host)) = (uri.scheme_str(), uri.authority()) else {
            return Err(format!("{url} is not a complete URL"));
        };
        if given != scheme {
            return Err(format!("{url} does not use {scheme}"));
        }
        let origin = format!("{scheme}://{host}");
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let answer = fetch(&origin, path, offset).await?;
        let status = answer.status();
        let location = answer.headers().get(LOCATION);
        match location.filter(|_| status.is_redirection()) {
            Some(location) => {
                let location = location.to_str().map_err(|it| it.to_string())?;
                url = match location.starts_with('/') {
                    true => format!("{origin}{location}"),
                    false => location.to_owned(),
                };
            }
            None if status.is_success() => return Ok(answer),
            None => return Err(format!("the server responded with {status}")),
        }
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

async fn fetch(origin: &str, path: &str, offset: u64) -> Result<Response<Body>, String> {
    let uri = origin.parse().map_err(|it| format!("{origin}: {it}"))?;
    let mut config = Config::new(uri);
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|it| it.to_string())?;
    let mut request = Request::get(path);
    if offset > 0 {
        request = request.header(RANGE, format!("bytes={offset}-"));
    }
    let request = request.body(Body::empty()).map_err(|it| it.to_string())?;
    client.send(request).await.map_err(|it| root_cause(&it))
}

async fn read_body(answer: Response<Body>) -> Result<Vec<u8>, String> {
    let length = answer.headers().get(http::header::CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|it| it > MAX_BYTES) {
        return Err(format!("the file is larger than {MAX_BYTES} bytes"));
    }
    let most = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    match read_file(most, answer.into_body()).await {
        Ok(bytes) => Ok(bytes),
        Err(ReadError::TooLarge) => Err(format!("the file is larger than {MAX_BYTES} bytes")),
        Err(ReadError::Failed(error)) => Err(root_cause(&error)),
    }
}

/// The innermost error describes what happened.
fn root_cause(error: &kube::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A web server with three paths; stops with the test.
    async fn server() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let answer = match head.split(' ').nth(1) {
                    Some("/old?a=1") => "302 Found\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n",
                    Some("/new") => "200 OK\r\nContent-Length: 4\r\n\r\nkind",
                    Some("/away") => {
                        "302 Found\r\nLocation: https://a.example/\r\nContent-Length: 0\r\n\r\n"
                    }
                    Some("/round") => "302 Found\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n",
                    Some("/rest") if head.contains("\r\nrange: bytes=2-\r\n") => {
                        "206 Partial Content\r\nContent-Range: bytes 2-3/4\r\nContent-Length: 2\r\n\r\nnd"
                    }
                    Some("/other") => {
                        "206 Partial Content\r\nContent-Range: bytes 1-3/4\r\nContent-Length: 3\r\n\r\nind"
                    }
                    Some("/short") => {
                        "200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nkind"
                    }
                    Some("/large") => "200 OK\r\nContent-Length: 99999999\r\n\r\n",
                    _ => "404 Not Found\r\nContent-Length: 0\r\n\r\n",
                };
                let answer = format!("HTTP/1.1 {answer}");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        format!("http://{address}")
    }

    #[tokio::test]
    async fn a_download_follows_redirects_of_the_same_scheme() {
        let server = server().await;
        let get = async |path: &str| {
            read_body(follow(&format!("{server}{path}"), "http", 0).await?).await
        };
        assert_eq!(get("/old?a=1").await, Ok(b"kind".to_vec()));
        for (path, expected) in [
            ("/gone", "404"),
            ("/round", "redirects"),
            ("/away", "does not use http"),
            ("/large", "than"),
        ] {
            let error = get(path).await.expect_err(path);
            assert!(error.contains(expected), "{path}: {error}");
        }
    }

    async fn read(url: String, offset: u64) -> Result<(u64, Vec<u8>), String> {
        let mut file = FileStream::open(&url, offset).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = file.next().await {
            bytes.extend(piece?);
        }
        Ok((file.offset, bytes))
    }

    #[tokio::test]
    async fn a_download_continues_where_the_file_ends() {
        let server = server().await;
        let get = async |path: &str, offset| read(format!("{server}{path}"), offset).await;
        assert_eq!(get("/rest", 2).await, Ok((2, b"nd".to_vec())));
        // A server that ignores ranges sends the whole file.
        assert_eq!(get("/new", 2).await, Ok((0, b"kind".to_vec())));
        assert_eq!(get("/old?a=1", 0).await, Ok((0, b"kind".to_vec())));
        for (path, expected) in [("/other", "another range"), ("/gone", "404")] {
            let error = get(path, 2).await.expect_err(path);
            assert!(error.contains(expected), "{path}: {error}");
        }
        assert!(get("/short", 0).await.is_err(), "a truncated file");
    }

    #[tokio::test]
    async fn only_https_is_accepted() {
        let error = download(&server().await).await.expect_err("plain");
        assert!(error.contains("does not use https"), "{error}");
    }
}
