//! Writes pages to disk without holding them, nor the script of megabytes that each carries.
//!
//! The script is copied by the kernel from the program's own file: written from memory it was more than half of the
//! peak memory of a run.

use procfs::process::{MemoryMap, Process};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// From here on a piece is worth asking whether it lies in the program's own file.
const LARGE: usize = 1 << 20;

/// Writes `page` to `file`.
pub(crate) fn write(file: File, page: &impl Display) -> io::Result<()> {
    let mut file = BufWriter::new(PageFile(file));
    write!(file, "{page}")?;
    file.flush()
}

/// A file to which the kernel copies what lies in the program's own: to write it from memory would bring all of it into
/// ours, for nothing but this one write.
struct PageFile(File);

impl Write for PageFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let place = if piece.len() < LARGE { None } else { place_in_program(piece) };
        match place {
            Some(place) => self.copy_from_program(place, piece.len()),
            None => self.0.write(piece),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl PageFile {
    fn copy_from_program(&mut self, place: u64, length: usize) -> io::Result<usize> {
        let mut program = program()?;
        program.seek(SeekFrom::Start(place))?;
        let copied = io::copy(&mut io::Read::take(program, length as u64), &mut self.0)?;
        usize::try_from(copied).map_err(io::Error::other)
    }
}

/// Where in the program's own file `piece` lies; none when it does not, or when that cannot be told.
fn place_in_program(piece: &[u8]) -> Option<u64> {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let program = program().ok()?;
    let inode = program.metadata().ok()?.ino();
    let maps = Process::myself().and_then(|own| own.maps()).ok()?;
    let place = maps.iter().find_map(|map| place_in_map(map, inode, piece.as_ptr().addr() as u64, piece.len()))?;
    // What is there is looked at, in case something has mapped the program in a way of its own.
    let ends = |at: usize| {
        let mut found = [0; 64];
        program.read_exact_at(&mut found, place + at as u64).is_ok() && piece[at..].starts_with(&found)
    };
    (ends(0) && ends(piece.len() - 64)).then_some(place)
}

/// The place in the file `inode` of `length` bytes at `address`, if they are in that mapping of it.
fn place_in_map(map: &MemoryMap, inode: u64, address: u64, length: usize) -> Option<u64> {
    let (from, to) = map.address;
    let is_in = map.inode == inode && from <= address && address + length as u64 <= to;
    is_in.then(|| map.offset + (address - from))
}

fn program() -> io::Result<File> {
    File::open("/proc/self/exe")
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromRead;
    use procfs::process::MemoryMaps;

    /// Long enough, and in the program's file as the script of a page is.
    static PART: [u8; LARGE + 3] = {
        let mut part = [b'.'; LARGE + 3];
        (part[0], part[LARGE / 2], part[LARGE + 2]) = (b'<', b'|', b'>');
        part
    };

    #[test]
    fn what_lies_in_the_program_is_copied_from_there() {
        assert!(place_in_program(&PART).is_some());
        let elsewhere = PART.to_vec();
        assert_eq!(place_in_program(&elsewhere), None);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page");
        let part = str::from_utf8(&PART).unwrap();
        let copy = part.to_owned();
        // One piece from the program's file between two from memory.
        write(File::create(&path).unwrap(), &format_args!("<{part}>{copy}.")).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap() == format!("<{part}>{part}."));
    }

    #[test]
    fn a_mapping_holds_what_is_in_it_and_of_the_file() {
        let lines =
            "7f0000-7f9000 r--p 00002000 08:01 1234    /usr/bin/plimsoll\n7fa000-7fb000 rw-p 00000000 00:00 0 \n";
        let maps = MemoryMaps::from_read(lines.as_bytes()).unwrap().0;
        assert_eq!(place_in_map(&maps[0], 1234, 0x7f_1010, 16), Some(0x3010));
        assert_eq!(place_in_map(&maps[0], 1235, 0x7f_1010, 16), None);
        assert_eq!(place_in_map(&maps[0], 1234, 0x7f_8ff8, 16), None);
        assert_eq!(place_in_map(&maps[0], 1234, 0x7e_ffff, 16), None);
        assert_eq!(place_in_map(&maps[1], 1234, 0x7f_a010, 16), None);
    }
}
