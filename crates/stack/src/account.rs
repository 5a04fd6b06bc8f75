//! Who the servers run as.

use crate::error::StackError;
use rustix::process::geteuid;
use rustix::thread::CapabilitySet;

/// The user that servers run as when root starts them and names no other.
const UNPRIVILEGED: &str = "nobody";

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Account {
    /// The user to become: none when we are not root, who alone can become another, and not in each container.
    pub(crate) fn choose(asked: Option<&str>) -> Result<Option<Self>, StackError> {
        if geteuid().is_root() {
            let account = Self::named(asked.unwrap_or(UNPRIVILEGED))?;
            return match (may_become(account.uid), asked) {
                (true, _) => Ok(Some(account)),
                (false, None) => Ok(None),
                (false, Some(asked)) => Err(StackError::Wrong(format!(
                    "this root can run no server as user {asked}: its container takes CAP_CHOWN, CAP_SETUID or CAP_SETGID from \
                     it, or knows no such user; leave --user out"
                ))),
            };
        }
        let Some(asked) = asked else { return Ok(None) };
        let account = Self::named(asked)?;
        if account.uid == geteuid().as_raw() {
            return Ok(None);
        }
        Err(StackError::Wrong(format!("only root can run a server as user {asked}; leave --user out")))
    }

    fn named(name: &str) -> Result<Self, StackError> {
        let wrong = |what: String| StackError::Wrong(format!("--user {name}: {what}"));
        let passwd = std::fs::read_to_string("/etc/passwd").map_err(|error| wrong(error.to_string()))?;
        let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
        Self::find(name, &passwd, &groups).ok_or_else(|| wrong("there is no such user in /etc/passwd".into()))
    }

    /// From the texts of `/etc/passwd` and `/etc/group` (see their manual pages).
    fn find(name: &str, passwd: &str, groups: &str) -> Option<Self> {
        let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let user = users.find(|fields| fields[0] == name)?;
        let (uid, gid): (u32, u32) = (user.get(2)?.parse().ok()?, user.get(3)?.parse().ok()?);
        let mut groups = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let group = groups.find(|fields| fields.get(2).and_then(|text| text.parse().ok()) == Some(gid));
        let group = group.map_or_else(|| gid.to_string(), |fields| fields[0].to_owned());
        Some(Self { name: name.to_owned(), group, uid, gid })
    }
}

/// True if this process can give files to a user and become it. Root of a container may have lost the capabilities, and knows
/// those users alone that its user namespace maps (user_namespaces(7)).
pub(crate) fn may_become(uid: u32) -> bool {
    let needed = CapabilitySet::CHOWN | CapabilitySet::SETUID | CapabilitySet::SETGID;
    let has_all = rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed));
    has_all && std::fs::read_to_string("/proc/self/uid_map").map_or(true, |map| is_mapped(uid, &map))
}

/// True if a `uid_map` has the user: lines of the first one inside, the first one outside, and how many.
fn is_mapped(uid: u32, map: &str) -> bool {
    let has = |line: &str| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(uid)))
    };
    map.lines().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root in a namespace of one user could start no server: "cannot create /tmp/plimsoll-0/...: Invalid argument".
    #[test]
    fn users_that_a_container_does_not_know_are_told_apart() {
        let [one, all] = ["         0          0          1\n", "0 0 4294967295"];
        assert_eq!([0, 1, 65_534].map(|uid| is_mapped(uid, one)), [true, false, false]);
        assert_eq!([0, 65_534].map(|uid| is_mapped(uid, all)), [true, true]);
        assert!(!is_mapped(0, "") && !is_mapped(0, "x y"));
    }

    #[test]
    fn users_are_found_with_their_group() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
        let found = Account::find("nobody", passwd, "root:x:0:\nnogroup:x:65534:\n").expect("it is there");
        assert_eq!((found.uid, found.gid, found.group.as_str()), (65534, 65534, "nogroup"));
        assert_eq!(Account::find("nobody", passwd, "").expect("it is there").group, "65534");
        assert_eq!(Account::find("no", passwd, ""), None);
    }
}
