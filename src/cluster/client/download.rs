//! Fetches one file of a web server, by the same TLS as API servers are spoken to.

use http::header::LOCATION;
use http::{Request, Response, Uri};
use kube::client::Body;
use kube::{Client, Config};
use std::time::Duration;
use tokio::time::timeout;

/// More than any manifest has.
const MOST: u64 = 16 << 20;
const REDIRECTS: usize = 5;
const CONNECT: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);

/// The content of the file, or why it cannot be had.
pub(crate) async fn download(url: &str) -> Result<Vec<u8>, String> {
    match timeout(PATIENCE, follow(url, "https")).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// Goes where it is sent to, as long as that is reached the same way.
async fn follow(url: &str, scheme: &str) -> Result<Vec<u8>, String> {
    let mut url = url.to_owned();
    for _ in 0..=REDIRECTS {
        let uri: Uri = url.parse().map_err(|it| format!("{url}: {it}"))?;
        let (Some(given), Some(host)) = (uri.scheme_str(), uri.authority()) else {
            return Err(format!("{url} is no whole URL"));
        };
        if given != scheme {
            return Err(format!("{url} is not reached by {scheme}"));
        }
        let origin = format!("{scheme}://{host}");
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let answer = ask(&origin, path).await?;
        let status = answer.status();
        let place = answer.headers().get(LOCATION);
        match place.filter(|_| status.is_redirection()) {
            Some(place) => {
                let place = place.to_str().map_err(|it| it.to_string())?;
                url = match place.starts_with('/') {
                    true => format!("{origin}{place}"),
                    false => place.to_owned(),
                };
            }
            None if status.is_success() => return content(answer).await,
            None => return Err(format!("the answer is {status}")),
        }
    }
    Err(format!("more than {REDIRECTS} redirections"))
}

async fn ask(origin: &str, path: &str) -> Result<Response<Body>, String> {
    let uri = origin.parse().map_err(|it| format!("{origin}: {it}"))?;
    let mut config = Config::new(uri);
    config.connect_timeout = Some(CONNECT);
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|it| it.to_string())?;
    let request = Request::get(path).body(Body::empty());
    let request = request.map_err(|it| it.to_string())?;
    client.send(request).await.map_err(|it| chain(&it))
}

async fn content(answer: Response<Body>) -> Result<Vec<u8>, String> {
    let length = answer.headers().get(http::header::CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|it| it > MOST) {
        return Err(format!("it has more than {MOST} bytes"));
    }
    let bytes = answer.into_body().collect_bytes().await;
    bytes.map(|it| it.to_vec()).map_err(|it| chain(&it))
}

/// The end says what happened.
fn chain(error: &kube::Error) -> String {
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

    /// A web server with three places; ends with the test.
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
    async fn a_file_is_had_where_the_server_sends_to() {
        let server = server().await;
        let get = async |path: &str| follow(&format!("{server}{path}"), "http").await;
        assert_eq!(get("/old?a=1").await, Ok(b"kind".to_vec()));
        for (path, told) in [
            ("/gone", "404"),
            ("/round", "redirections"),
            ("/away", "not reached by http"),
            ("/large", "more than"),
        ] {
            let error = get(path).await.expect_err(path);
            assert!(error.contains(told), "{path}: {error}");
        }
    }

    #[tokio::test]
    async fn only_https_is_asked() {
        let error = download(&server().await).await.expect_err("plain");
        assert!(error.contains("is not reached by https"), "{error}");
    }
}
