//! Certificates for servers of the tests.

/// A self-signed certificate and its key, PEM.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    pub(super) key_pem: String,
}

impl Certificate {
    /// For `name`, from 2020 to the begin of `until_year`.
    pub(crate) fn new(name: &str, until_year: i32) -> Self {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { pem: certificate.pem(), key_pem: key.serialize_pem() }
    }
}
