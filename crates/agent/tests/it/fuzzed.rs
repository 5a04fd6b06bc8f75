//! The promises of both ends on damaged streams: what the fuzz target checks, a little of it.

use agent::testing::{fuzz, fuzz_pods, fuzz_shell};
use proptest::prelude::*;
use std::path::Path;

const SEEDS: [&[u8]; 9] = [
    include_bytes!("../corpus/of_agent"),
    include_bytes!("../corpus/of_coordinator"),
    include_bytes!("../corpus/of_observer"),
    include_bytes!("../corpus/of_observed"),
    include_bytes!("../corpus/of_probe_client"),
    include_bytes!("../corpus/of_probe_server"),
    include_bytes!("../corpus/of_probed"),
    include_bytes!("../corpus/of_server"),
    include_bytes!("../corpus/of_serving"),
];

/// Bits that change what a shell or a cluster says.
const TOKENS: [&str; 10] =
    ["\n", "plimsoll-agent:", "error ", "\u{1b}[2J", "token=s3cret ", "\"", "{", ",", "\\u001b", "../"];

/// One of the texts in a folder, changed.
fn changed(folder: &str) -> impl Strategy<Value = Vec<u8>> {
    seeds::mutated(seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)), &TOKENS)
}

#[test]
fn seeds_hold() {
    SEEDS.into_iter().for_each(fuzz);
}

proptest! {
    #[test]
    fn damaged_streams_hold(
        seed in prop::sample::select(SEEDS.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = seed.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        fuzz(&bytes);
    }

    #[test]
    fn what_shells_say_holds(data in changed("words")) {
        fuzz_shell(&data);
    }

    #[test]
    fn what_clusters_say_of_pods_holds(data in changed("pods")) {
        fuzz_pods(&data);
    }

    #[test]
    fn arbitrary_bytes_hold(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz(&bytes);
        fuzz(&[b"1234plimsoll agent\n".as_slice(), &bytes].concat());
    }
}
