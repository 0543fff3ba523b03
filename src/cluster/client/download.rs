//! Download of a single file over HTTPS, with the TLS stack that is used for API servers.

use http::header::LOCATION;
use http::{Request, Response, Uri};
use kube::client::Body;
use kube::{Client, Config};
use std::time::Duration;
use tokio::time::timeout;

/// Larger than any manifest.
const MAX_BYTES: u64 = 16 << 20;
const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);

/// Downloads a file.
///
/// # Errors
///
/// A message with the cause.
pub(crate) async fn download(url: &str) -> Result<Vec<u8>, String> {
    match timeout(TIMEOUT, follow(url, "https")).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no response within {}s", TIMEOUT.as_secs())),
    }
}

/// Follows redirects as long as the scheme stays the same.
async fn follow(url: &str, scheme: &str) -> Result<Vec<u8>, String> {
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
        let answer = fetch(&origin, path).await?;
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
            None if status.is_success() => return read_body(answer).await,
            None => return Err(format!("the server responded with {status}")),
        }
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

async fn fetch(origin: &str, path: &str) -> Result<Response<Body>, String> {
    let uri = origin.parse().map_err(|it| format!("{origin}: {it}"))?;
    let mut config = Config::new(uri);
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|it| it.to_string())?;
    let request = Request::get(path).body(Body::empty());
    let request = request.map_err(|it| it.to_string())?;
    client.send(request).await.map_err(|it| root_cause(&it))
}

async fn read_body(answer: Response<Body>) -> Result<Vec<u8>, String> {
    let length = answer.headers().get(http::header::CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|it| it > MAX_BYTES) {
        return Err(format!("the file is larger than {MAX_BYTES} bytes"));
    }
    let bytes = answer.into_body().collect_bytes().await;
    bytes.map(|it| it.to_vec()).map_err(|it| root_cause(&it))
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
        let get = async |path: &str| follow(&format!("{server}{path}"), "http").await;
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

    #[tokio::test]
    async fn only_https_is_accepted() {
        let error = download(&server().await).await.expect_err("plain");
        assert!(error.contains("does not use https"), "{error}");
    }
}
