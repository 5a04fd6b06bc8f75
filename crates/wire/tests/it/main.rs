//! The machines of the protocols, without any socket.

mod client;
mod corpus;
mod fastcgi;
mod server;
mod split;
mod tls;
mod write;
