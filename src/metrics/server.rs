//! A web server for one page, within bounds that hold for any client.

use super::exposition::CONTENT_TYPE;
use crate::tcp_server::TcpServer;
use http::header::{ALLOW, CONTENT_TYPE as CONTENT_TYPE_HEADER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 16;
/// Time for all headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a connection, which serves one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64;
/// Bytes of a request's headers, and of what is written at once.
const MAX_BUFFER: usize = 16 << 10;
const PATH: &str = "/metrics";

/// Makes the page.
type Page = Arc<dyn Fn() -> String + Send + Sync>;

/// Serves the page until the future is dropped.
pub(crate) async fn serve(server: TcpServer, page: Page) -> Infallible {
    let handle = |stream| {
        let page = page.clone();
        async move {
            // One that is too slow is closed.
            let _ = timeout(CONNECTION_TIMEOUT, answer(stream, page)).await;
        }
    };
    server.serve(MAX_CONNECTIONS, handle).await
}

/// Serves one request.
async fn answer(stream: TcpStream, page: Page) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(request.method(), request.uri().path(), &page);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the metrics failed");
    }
}

fn respond(method: &Method, path: &str, page: &Page) -> Response<Full<Bytes>> {
    let (status, text) = match (method, path) {
        (_, path) if path != PATH => (StatusCode::NOT_FOUND, "metrics are at /metrics\n".into()),
        (&Method::GET | &Method::HEAD, _) => (StatusCode::OK, page()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "use GET\n".into()),
    };
    let content = match status {
        StatusCode::OK => CONTENT_TYPE,
        _ => "text/plain; charset=utf-8",
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(content));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A server that stops with the test.
    async fn server() -> SocketAddr {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = TcpServer::bind(&[any]).await.expect("a port");
        let address = server.address().expect("it is bound");
        tokio::spawn(serve(server, Arc::new(|| "# EOF\n".to_owned())));
        address
    }

    async fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        // The server may have closed it.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn the_page_is_served_and_nothing_else() {
        let address = server().await;
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains(CONTENT_TYPE), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let head = ask(address, b"HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(head.ends_with("\r\n\r\n"), "{head}");
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("GET /metrics/../etc HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "405"),
            ("no request\r\n\r\n", "400"),
        ] {
            let answer = ask(address, request.as_bytes()).await;
            let expected = format!("HTTP/1.1 {status}");
            assert!(answer.starts_with(&expected), "{request}: {answer}");
        }
    }

    #[tokio::test]
    async fn large_requests_are_refused() {
        let address = server().await;
        let long = format!("a: {}\r\n", "x".repeat(MAX_BUFFER));
        for headers in [long, "a: b\r\n".repeat(MAX_HEADERS + 1)] {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
            let answer = ask(address, request.as_bytes()).await;
            assert!(!answer.contains("# EOF"), "{answer}");
            assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connections_are_closed_and_make_room_for_others() {
        let address = server().await;
        let mut silent = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            silent.push(TcpStream::connect(address).await.expect("it listens"));
        }
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(answer.ends_with("# EOF\n"), "{answer}");
    }
}
