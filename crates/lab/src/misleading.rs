//! Programs that run as any other, and whose files mislead whoever reads their debug information.

/// Length of a section's header in an ELF file of 64 bits, and of the file's own.
const HEADER_BYTES: usize = 64;
/// `SHT_PROGBITS`, `SHT_STRTAB`, `SHF_COMPRESSED`, `ELFCOMPRESS_ZLIB`.
const PROGBITS: u32 = 1;
const STRTAB: u32 = 3;
const COMPRESSED: u64 = 1 << 11;
const ZLIB: u64 = 1;
/// What a compressed section says it has.
const SAID_BYTES: u64 = 1 << 46;

/// How a program misleads.
#[derive(Clone, Copy, Debug)]
pub enum Misleading<'a> {
    /// A compressed section says that it has 64 TiB.
    Size,
    /// The debug information is said to be in a file of this name beside it, which may be a pipe.
    Elsewhere(&'a str),
}

impl Misleading<'_> {
    /// `program`, an ELF file of 64 bits, with other sections than it had; what is loaded of it stays as it is.
    ///
    /// # Panics
    /// If it is no such file.
    #[must_use]
    pub fn make(self, program: &[u8]) -> Vec<u8> {
        assert!(program.starts_with(b"\x7fELF\x02\x01"), "it is no ELF file of 64 bits, little-endian");
        let (name, flags, content) = match self {
            Self::Size => (".debug_info", COMPRESSED, [ZLIB, SAID_BYTES, 1].map(u64::to_le_bytes).concat()),
            Self::Elsewhere(file) => {
                let mut link = format!("{file}\0").into_bytes();
                link.resize(link.len().next_multiple_of(4), 0);
                // A checksum, which is looked at after the file was read.
                link.extend([0; 4]);
                (".gnu_debuglink", 0, link)
            }
        };
        let names = format!("\0.names\0{name}\0");
        let of_name = |name: &str| u32::try_from(names.find(name).expect("it is one of them")).expect("it is small");
        let mut file = program.to_vec();
        let names_at = append(&mut file, names.as_bytes());
        let content_at = append(&mut file, &content);
        let table = [
            vec![0; HEADER_BYTES],
            header(of_name(".names"), STRTAB, 0, names_at, names.len()),
            header(of_name(name), PROGBITS, flags, content_at, content.len()),
        ];
        let table_at = append(&mut file, &table.concat());
        // e_shoff; e_shentsize, e_shnum, e_shstrndx.
        file[0x28..0x30].copy_from_slice(&(table_at as u64).to_le_bytes());
        for (at, number) in [(0x3a, HEADER_BYTES as u16), (0x3c, table.len() as u16), (0x3e, 1)] {
            file[at..at + 2].copy_from_slice(&number.to_le_bytes());
        }
        file
    }
}

/// Appends what has to lie at a multiple of 8, and says where.
fn append(file: &mut Vec<u8>, content: &[u8]) -> usize {
    file.resize(file.len().next_multiple_of(8), 0);
    let at = file.len();
    file.extend(content);
    at
}

/// The header of a section.
fn header(name: u32, kind: u32, flags: u64, at: usize, length: usize) -> Vec<u8> {
    let mut header = [name.to_le_bytes(), kind.to_le_bytes()].concat();
    for word in [flags, 0, at as u64, length as u64, 0, 1, 0] {
        header.extend(word.to_le_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn they_run_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("misleading");
        for how in [Misleading::Size, Misleading::Elsewhere("pipe")] {
            std::fs::write(&path, how.make(&std::fs::read("/bin/true").unwrap())).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert!(Command::new(&path).status().unwrap().success(), "{how:?}");
        }
    }
}
