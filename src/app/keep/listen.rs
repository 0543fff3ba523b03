//! Ports that `kvshoot keep` serves.

use super::options::ServeAddress;
use crate::app::error::{CommandError, Exit};
use crate::tcp_server::TcpServer;
use std::net::SocketAddr;

/// Listens for clients of something, such as `metrics`, whose address the user chooses with `flag`.
///
/// # Errors
///
/// The address cannot be used.
pub(super) async fn listen(
    address: ServeAddress,
    what: &str,
    flag: &str,
) -> Result<(TcpServer, SocketAddr), CommandError> {
    let bound = async {
        let server = TcpServer::bind(&address.candidates()).await?;
        let address = server.address()?;
        Ok::<_, std::io::Error>((server, address))
    };
    bound.await.map_err(|error| {
        let message = format!("cannot serve {what}: {error}");
        let error = CommandError::new(Exit::Precondition, message);
        error.hint(format!("choose another address with {flag}"))
    })
}
