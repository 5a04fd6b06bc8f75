//! Certificates for servers of the tests.

/// A self-signed certificate and its key, PEM.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    pub(crate) key_pem: String,
}

impl Certificate {
    /// For `name`, from 2020 to the begin of `until_year`.
    pub(crate) fn new(name: &str, until_year: i32) -> Self {
        Self::with(&[name], until_year, rcgen::IsCa::NoCa)
    }

    /// For several names, and long enough.
    pub(crate) fn for_names(names: &[&str]) -> Self {
        Self::with(names, 2120, rcgen::IsCa::NoCa)
    }

    /// As [`Self::new`], but it may sign others.
    pub(crate) fn that_may_sign(name: &str, until_year: i32) -> Self {
        Self::with(&[name], until_year, rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained))
    }

    fn with(names: &[&str], until_year: i32, is_ca: rcgen::IsCa) -> Self {
        let mut params =
            rcgen::CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).expect("names");
        params.distinguished_name.push(rcgen::DnType::CommonName, names[0]);
        params.is_ca = is_ca;
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { pem: certificate.pem(), key_pem: key.serialize_pem() }
    }
}
