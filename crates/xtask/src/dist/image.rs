//! A container image as one tar: an OCI image layout (image-spec 1.1), with the `manifest.json` of `docker save` beside it for
//! programs that know no layouts. `docker load`, `podman load` and `ctr images import` take it.
//!
//! It has one layer, without a distribution below it.

use std::io;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::archive::{File, tar};

const NAME: &str = "localhost/plimsoll";
const ENTRYPOINT: &str = "/usr/bin/plimsoll";
/// Where results go: the place for a volume.
const WORK: &str = "/work";

/// Root's built-in server runs as nobody, whom somebody has to know.
const PASSWD: &str = "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\n";

/// Its contents and what it says of itself.
pub(super) struct Image<'a> {
    /// Processor, as Go names it.
    pub(super) architecture: &'a str,
    pub(super) version: &'a str,
    pub(super) commit: &'a str,
    /// Time of the commit, RFC 3339.
    pub(super) time: &'a str,
    /// The same time, seconds since 1970: that of all files.
    pub(super) epoch_s: u64,
    pub(super) files: &'a [File],
}

impl Image<'_> {
    pub(super) fn tar(&self) -> io::Result<Vec<u8>> {
        let base = [
            File::document("etc/passwd", PASSWD),
            File::document("etc/group", GROUP),
            // What each user may write to. All other folders are made where the image is unpacked.
            File::folder("tmp/", 0o1777),
            File::folder("work/", 0o1777),
        ];
        let layer =
            Blob::new("application/vnd.oci.image.layer.v1.tar", tar(base.iter().chain(self.files), self.epoch_s)?);
        let config = Blob::json("application/vnd.oci.image.config.v1+json", &self.config(&layer));
        let manifest = Blob::json("application/vnd.oci.image.manifest.v1+json", &manifest(&config, &layer));
        let files = [
            File::document("oci-layout", text(&json!({ "imageLayoutVersion": "1.0.0" }))),
            File::document("index.json", text(&self.index(&manifest))),
            File::document("manifest.json", text(&self.docker_manifest(&config, &layer))),
            File::document(manifest.path(), manifest.content),
            File::document(config.path(), config.content),
            File::document(layer.path(), layer.content),
        ];
        tar(&files, self.epoch_s)
    }

    /// How a container of it is run.
    fn config(&self, layer: &Blob) -> Value {
        json!({
            "created": self.time,
            "architecture": self.architecture,
            "os": "linux",
            "config": {
                "Entrypoint": [ENTRYPOINT],
                "WorkingDir": WORK,
                "Labels": {
                    "org.opencontainers.image.title": "plimsoll",
                    "org.opencontainers.image.version": self.version,
                    "org.opencontainers.image.revision": self.commit,
                    "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
                },
            },
            // The layer is not compressed, so its digest is that of its contents.
            "rootfs": { "type": "layers", "diff_ids": [layer.digest()] },
            "history": [{ "created": self.time, "created_by": "cargo xtask dist" }],
        })
    }

    fn index(&self, manifest: &Blob) -> Value {
        let mut entry = manifest.descriptor();
        entry["platform"] = json!({ "architecture": self.architecture, "os": "linux" });
        // The whole name is for containerd and podman.
        entry["annotations"] = json!({
            "io.containerd.image.name": self.name(),
            "org.opencontainers.image.ref.name": self.version,
        });
        json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry] })
    }

    fn docker_manifest(&self, config: &Blob, layer: &Blob) -> Value {
        json!([{ "Config": config.path(), "RepoTags": [self.name()], "Layers": [layer.path()] }])
    }

    fn name(&self) -> String {
        format!("{NAME}:{}", self.version)
    }
}

fn manifest(config: &Blob, layer: &Blob) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
    })
}

/// Content that is found by its hash.
struct Blob {
    media_type: &'static str,
    hash: String,
    content: Vec<u8>,
}

impl Blob {
    fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        let hash = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { media_type, hash, content }
    }

    fn json(media_type: &'static str, value: &Value) -> Self {
        Self::new(media_type, text(value))
    }

    fn digest(&self) -> String {
        format!("sha256:{}", self.hash)
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.hash)
    }

    fn descriptor(&self) -> Value {
        json!({ "mediaType": self.media_type, "digest": self.digest(), "size": self.content.len() })
    }
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{Blob, File, Image};
    use crate::dist::archive::tests::{EPOCH_S, unpacked};
    use serde_json::Value;

    fn made(program: &[u8]) -> Vec<u8> {
        let files =
            [File::program("usr/bin/plimsoll", program.to_vec()), File::document("usr/share/doc/a", vec![b'a'])];
        let image = Image {
            architecture: "arm64",
            version: "0.1.0",
            commit: "0a1b",
            time: "2023-11-14T22:13:20+00:00",
            epoch_s: EPOCH_S,
            files: &files,
        };
        image.tar().unwrap()
    }

    fn json(content: &[u8]) -> Value {
        serde_json::from_slice(content).unwrap()
    }

    #[test]
    fn the_same_contents_are_the_same_bytes_and_others_are_not() {
        assert_eq!(made(b"program"), made(b"program"));
        assert_ne!(made(b"program"), made(b"another"));
    }

    #[test]
    fn each_blob_has_the_name_and_size_that_others_know_it_by() {
        let files = unpacked(&made(b"program"));
        let blob = |descriptor: &Value| {
            let hash = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
            let (_, content) = &files[&format!("blobs/sha256/{hash}")];
            assert_eq!(descriptor["size"], content.len());
            assert_eq!(Blob::new("", content.clone()).hash, hash);
            content.clone()
        };
        let manifest = json(&blob(&json(&files["index.json"].1)["manifests"][0]));
        let config = json(&blob(&manifest["config"]));
        let layer = &manifest["layers"][0];
        assert_eq!(config["rootfs"]["diff_ids"][0], layer["digest"]);
        assert_eq!(config["architecture"], "arm64");
        let inside = unpacked(&blob(layer));
        assert_eq!(inside["usr/bin/plimsoll"], (0o755, b"program".to_vec()));
        assert_eq!(inside["tmp/"], (0o1777, Vec::new()));
        assert!(String::from_utf8_lossy(&inside["etc/passwd"].1).contains("nobody:x:65534:"));
        // Paths that docker knows lead to the same.
        let docker = &json(&files["manifest.json"].1)[0];
        assert_eq!(json(&files[docker["Config"].as_str().unwrap()].1), config);
        assert!(layer["digest"].as_str().unwrap().ends_with(&docker["Layers"][0].as_str().unwrap()[13..]));
        assert_eq!(docker["RepoTags"][0], "localhost/plimsoll:0.1.0");
        assert_eq!(files.len(), 6);
    }
}
