use super::*;
use crate::pki::{Authority, LeafProfile, PemPair, Validity};
use crate::tcp_server::TcpServer;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

const NAME: &str = "groups.ns.svc";
const CLIENT: &str = "system:cluster-autoscaler";
const NODE_GROUPS: &str =
    "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/NodeGroups";

/// A shoot with one group, which cannot be changed.
struct OneGroup;

impl CloudProvider for OneGroup {
    fn node_groups(&self) -> Vec<NodeGroup> {
        let id = "g".to_owned();
        vec![NodeGroup {
            id,
            min_size: 1,
            max_size: 3,
            debug: String::new(),
        }]
    }

    fn group_of(&self, _: &str) -> Option<NodeGroup> {
        None
    }

    fn target_size(&self, group: &str) -> Result<usize, AutoscalerError> {
        Err(AutoscalerError::UnknownGroup(group.to_owned()))
    }

    fn instances(&self, _: &str) -> Result<Vec<Instance>, AutoscalerError> {
        Ok(Vec::new())
    }

    fn template(&self, _: &str) -> Result<NodeTemplate, AutoscalerError> {
        Ok(NodeTemplate::default())
    }

    fn options(
        &self,
        _: &str,
        defaults: AutoscalingOptions,
    ) -> Result<AutoscalingOptions, AutoscalerError> {
        Ok(defaults)
    }

    fn change(&self, _: &str, _: SizeChange) -> BoxFuture<'_, Result<(), AutoscalerError>> {
        async { Err(AutoscalerError::Refused("it has its maximum".to_owned())) }.boxed()
    }
}

fn authority(name: &str) -> Authority {
    Authority::new(name, Validity::for_ca(1_790_000_000)).expect("a key")
}

fn issue(authority: &Authority, name: &str, is_server: bool) -> PemPair {
    let profile = LeafProfile {
        common_name: name,
        names: &[NAME.to_owned()],
        server: is_server,
        client: !is_server,
        ..LeafProfile::default()
    };
    let now = jiff::Timestamp::now().as_second();
    authority
        .issue(&profile, Validity::for_seconds(now, 3_600))
        .expect("a certificate")
}

/// Serves one shoot until the test ends.
async fn serve_one(authority: &Authority) -> (SocketAddr, CancellationToken) {
    let pair = issue(authority, NAME, true);
    let ca = &authority.pair().certificate;
    let tls = server_config(&pair.certificate, pair.key.expose_secret(), ca);
    let ended = CancellationToken::new();
    let served = ServedShoot {
        tls: Arc::new(tls.expect("they belong together")),
        client: CLIENT.to_owned(),
        shoot: Arc::new(OneGroup),
        ended: ended.clone(),
    };
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = TcpServer::bind(&[any]).await.expect("a port");
    let address = server.address().expect("it is bound");
    let find = move |name: &str| (name == NAME).then(|| served.clone());
    tokio::spawn(serve(server, Arc::new(find)));
    (address, ended)
}

/// `name` is that of the server; `client` a certificate.
async fn connect(
    address: SocketAddr,
    authority: &Authority,
    name: &str,
    client: Option<PemPair>,
) -> io::Result<TlsStream<TcpStream>> {
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    let mut roots = RootCertStore::empty();
    roots
        .add(certificate(&authority.pair().certificate))
        .expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config
        .with_safe_default_protocol_versions()
        .expect("versions");
    let config = config.with_root_certificates(roots);
    let mut config = match client {
        None => config.with_no_client_auth(),
        Some(pair) => {
            let key = PrivateKeyDer::from_pem_slice(pair.key.expose_secret().as_bytes());
            let chain = vec![certificate(&pair.certificate)];
            config
                .with_client_auth_cert(chain, key.expect("a key"))
                .expect("they belong together")
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Makes a call, and returns the message of the response and the status in its trailers.
async fn call(
    stream: TlsStream<TcpStream>,
    path: &str,
    message: &[u8],
) -> Result<(Vec<u8>, String), String> {
    let failed = |it: hyper::Error| it.to_string();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .map_err(failed)?;
    tokio::spawn(connection);
    let length = u32::try_from(message.len()).expect("a short message");
    let body = [&[0][..], &length.to_be_bytes(), message].concat();
    let request = Request::post(format!("https://{NAME}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let response = sender.send_request(request).await.map_err(failed)?;
    let in_headers = response.headers().get("grpc-status").cloned();
    let body = response.into_body().collect().await.map_err(failed)?;
    let in_trailers = body
        .trailers()
        .and_then(|it| it.get("grpc-status").cloned());
    let status = in_headers.or(in_trailers).expect("a status");
    let message = body.to_bytes().get(5..).unwrap_or_default().to_vec();
    Ok((message, status.to_str().expect("a number").to_owned()))
}

#[tokio::test]
async fn the_autoscaler_of_the_shoot_is_answered() {
    let authority = authority("shoot");
    let (address, ended) = serve_one(&authority).await;
    let client = || Some(issue(&authority, CLIENT, false));
    let connected = || async {
        connect(address, &authority, NAME, client())
            .await
            .expect("it is allowed")
    };
    let groups = call(connected().await, NODE_GROUPS, b"").await;
    let expected = b"\x0a\x07\x0a\x01g\x10\x01\x18\x03".to_vec();
    assert_eq!(groups, Ok((expected, "0".to_owned())));
    let of = |name: &str| NODE_GROUPS.replace("NodeGroups", name);
    for (name, message, status) in [
        ("NodeGroupTargetSize", &b"\x0a\x01x"[..], "5"),
        ("NodeGroupIncreaseSize", b"\x08\x01\x12\x01g", "9"),
        ("NodeGroupIncreaseSize", b"\x12\x01g", "3"),
        ("PricingNodePrice", b"", "12"),
        ("Refresh", b"", "0"),
        // Not a message.
        ("NodeGroupNodes", b"\xff", "13"),
    ] {
        let answer = call(connected().await, &of(name), message).await;
        let answer = answer.map(|it| it.1);
        assert_eq!(answer.as_deref(), Ok(status), "{name}");
    }
    let stream = connected().await;
    ended.cancel();
    assert!(call(stream, NODE_GROUPS, b"").await.is_err());
}

#[tokio::test]
async fn all_other_clients_are_refused() {
    let authority = authority("shoot");
    let other = self::authority("other");
    let (address, _ended) = serve_one(&authority).await;
    for (what, name, client) in [
        ("no certificate", NAME, None),
        (
            "another name",
            NAME,
            Some(issue(&authority, "system:node:a", false)),
        ),
        (
            "another authority",
            NAME,
            Some(issue(&other, CLIENT, false)),
        ),
        (
            "a certificate of a server",
            NAME,
            Some(issue(&authority, CLIENT, true)),
        ),
        (
            "another shoot",
            "other.ns.svc",
            Some(issue(&authority, CLIENT, false)),
        ),
    ] {
        let answer = match connect(address, &authority, name, client).await {
            Ok(stream) => call(stream, NODE_GROUPS, b"").await,
            Err(error) => Err(error.to_string()),
        };
        assert!(answer.is_err(), "{what}: {answer:?}");
    }
}
