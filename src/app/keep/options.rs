//! Options of `kvshoot keep`.

use crate::app::run::session::RunOptions;
use crate::render::control_plane::cluster_autoscaler::PROVIDER_PORT;
use crate::state::duty::Duty;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The subcommand, for events and the history.
pub(super) const VERB: &str = "keep";
/// A verb phrase for errors of the first requests.
pub(super) const FIND: &str = "find the shoots to keep";

/// The end of the names of all objects that `kvshoot keep` prints.
pub(super) fn object_name(options: &KeepOptions) -> String {
    match &options.name {
        Some(name) => format!("keep-{}", name.replace('/', "-")),
        None => VERB.to_owned(),
    }
}

/// Options of `kvshoot keep`.
#[derive(Debug)]
pub(crate) struct KeepOptions {
    /// Display name of the shoot; all shoots of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) skipped: BTreeSet<Duty>,
    /// Time that the CSI driver has to detach a volume of a node that is gone.
    pub(crate) detach_after: Duration,
    /// Directory with the volumes for backups, each below the name of its PersistentVolumeClaim.
    pub(crate) claims: PathBuf,
    /// Where metrics are served; nowhere if None.
    pub(crate) metrics: Option<ServeAddress>,
    /// Where cluster autoscalers are served; nowhere if None.
    pub(crate) autoscaler: Option<ServeAddress>,
    /// Limits of each run.
    pub(crate) run: RunOptions,
}

/// Where something is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServeAddress {
    /// All addresses of the computer if None.
    host: Option<IpAddr>,
    port: u16,
}

impl ServeAddress {
    /// That of metrics of the printed Deployment.
    pub(super) const METRICS: ServeAddress = ServeAddress {
        host: None,
        port: 8080,
    };
    /// That of node groups of the printed Deployment.
    pub(super) const AUTOSCALER: ServeAddress = ServeAddress {
        host: None,
        port: PROVIDER_PORT,
    };

    pub(super) fn port(self) -> u16 {
        self.port
    }

    /// Reads `:PORT` or `ADDRESS:PORT`.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub(crate) fn parse(text: &str) -> Result<ServeAddress, String> {
        let all = text.strip_prefix(':').map(str::parse);
        if let Some(Ok(port)) = all {
            return Ok(ServeAddress { host: None, port });
        }
        let address: SocketAddr = text
            .parse()
            .map_err(|_| "write :PORT or ADDRESS:PORT, such as :8080 or 127.0.0.1:8080")?;
        Ok(ServeAddress {
            host: Some(address.ip()),
            port: address.port(),
        })
    }

    /// The first of these that is possible: without a host, of both IP families, or of IPv4 on computers without IPv6.
    pub(super) fn candidates(self) -> Vec<SocketAddr> {
        let hosts = match self.host {
            Some(host) => vec![host],
            None => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        let addresses = hosts.into_iter().map(|it| SocketAddr::new(it, self.port));
        addresses.collect()
    }
}

impl fmt::Display for ServeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Some(host) => write!(f, "{}", SocketAddr::new(host, self.port)),
            None => write!(f, ":{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_may_have_a_host() {
        let candidates = |text: &str| {
            let address = ServeAddress::parse(text)?;
            let candidates = address.candidates().into_iter();
            Ok::<_, String>(candidates.map(|it| it.to_string()).collect::<Vec<_>>())
        };
        let all = ["[::]:8080".to_owned(), "0.0.0.0:8080".to_owned()].into();
        assert_eq!(candidates(":8080"), Ok(all));
        assert_eq!(
            candidates("127.0.0.1:1"),
            Ok(vec!["127.0.0.1:1".to_owned()])
        );
        assert_eq!(candidates("[::1]:1"), Ok(vec!["[::1]:1".to_owned()]));
        for bad in ["", "8080", ":", ":99999", "localhost:8080", "::1:8080"] {
            assert!(ServeAddress::parse(bad).is_err(), "{bad:?}");
        }
    }
}
