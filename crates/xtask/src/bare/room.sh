# Runs a command in a copy of a bare tree. It is started in a mount, PID and network namespace of its own.
# Arguments: TREE CHANGES USER PROC [SOURCE AT MODE]... -- COMMAND...
set -e
tree=$1 changes=$2 user=$3 proc=$4
shift 4
ip link set lo up
[ -z "$NO_IPV6" ] || echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
[ -z "$IN_MEMORY" ] || mount -t tmpfs tmpfs "$changes"
mkdir -p "$changes/upper" "$changes/work" "$changes/root"
root=$changes/root
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$changes/upper,workdir=$changes/work" "$root"
mount -t proc -o "$proc" proc "$root/proc"
mount --rbind /sys "$root/sys"
mkdir -p "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -sf pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    [ "$3" = writable ] || mount -o remount,bind,ro "$root$2"
    shift 3
done
shift
grep -q ^ordinary: "$root/etc/passwd" || echo ordinary:x:1000:1000::/home/ordinary:/bin/sh >>"$root/etc/passwd"
mkdir -p "$root/home/ordinary"
chown 1000:1000 "$root/home/ordinary"
[ -z "$FILES" ] || ulimit -n "$FILES"
# This shell stays as process 1: who runs programs is never that itself.
timeout --kill-after=10 "$LONGEST_S" chroot --userspec="$user:$user" "$root" "$@"
