# A cluster of Kubernetes in network namespaces: the control plane and the coordinator in `c`, a target in `t`, the nodes `n1` and
# `n2`. Started by unshare(1) with namespaces for network, mounts and processes: all of it ends with this shell.
#
# $1: an empty directory; KUBERNETES: the programs of Kubernetes as one; PLIMSOLL and IMAGE: the program and its image.
set -euo pipefail
cd "$1"
D=$PWD
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/netns log

# kubelet sets these for the whole machine unless they have its values: it sees files in their place.
sysctl() {
    echo "$2" >"$D/sysctl-${1//\//-}"
    mount --bind "$D/sysctl-${1//\//-}" "/proc/sys/$1"
}
sysctl vm/overcommit_memory 1
sysctl vm/panic_on_oom 0
sysctl kernel/panic 10
sysctl kernel/panic_on_oops 1
sysctl kernel/keys/root_maxkeys 1000000
sysctl kernel/keys/root_maxbytes 25000000

# Hosts on one switch, without a way out. The bridge of a node has the interfaces of its pods too.
ip link set lo up
ip netns add sw
ip -n sw link add br0 type bridge
ip -n sw link set br0 up
host() {
    ip netns add "$1"
    ip link add veth0 netns "$1" type veth peer name "$1" netns sw
    ip -n sw link set dev "$1" master br0 up
    ip -n "$1" link add br0 type bridge
    ip -n "$1" link set veth0 master br0 up
    ip -n "$1" addr add "$2/24" dev br0
    ip -n "$1" link set br0 up
    ip -n "$1" link set lo up
}
host c 10.77.0.1
host t 10.77.0.20
host n1 10.77.0.11
host n2 10.77.0.12
# Not by `ip netns exec`, which mounts a /sys without cgroups.
on() {
    local host=$1
    shift
    nsenter --net="/run/netns/$host" "$@"
}
await() {
    local what=$1
    shift
    for _ in {1..600}; do
        "$@" >>log/await 2>&1 && return
        sleep 0.1
    done
    echo "$what did not come up" >&2
    exit 1
}

on t "$PLIMSOLL" target --listen 10.77.0.20:80 --first-byte 5ms >log/target 2>&1 &

# The control plane. Tokens stand for users: one for all parts, one for each node, one for who runs the tests.
openssl genrsa -out accounts.key 2048 2>log/openssl
cat >tokens <<END
admin,admin,1,"system:masters"
n1,system:node:n1,2,"system:nodes"
n2,system:node:n2,3,"system:nodes"
load,load,4
nobody,nobody,5
END
chmod 600 tokens
on c etcd --data-dir "$D/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync >log/etcd 2>&1 &
on c "$KUBERNETES" kube-apiserver --etcd-servers=http://127.0.0.1:2379 --advertise-address=10.77.0.1 --bind-address=10.77.0.1 \
    --secure-port=6443 --cert-dir="$D/certificates" --token-auth-file="$D/tokens" --authorization-mode=Node,RBAC \
    --service-account-issuer=https://plimsoll --service-account-key-file="$D/accounts.key" \
    --service-account-signing-key-file="$D/accounts.key" --service-cluster-ip-range=10.78.0.0/24 \
    --kubelet-preferred-address-types=InternalIP >log/apiserver 2>&1 &
await "the API server" test -s certificates/apiserver.crt
kubeconfig() {
    cat >"$1.conf" <<END
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://10.77.0.1:6443", certificate-authority: "$D/certificates/apiserver.crt"}}]
users: [{name: "$1", user: {token: "$1"}}]
contexts: [{name: lab, context: {cluster: lab, user: "$1"}}]
current-context: lab
END
}
for user in admin n1 n2 load nobody; do kubeconfig $user; done
kubectl() {
    on c "$KUBERNETES" kubectl --kubeconfig "$D/admin.conf" "$@"
}
await "the API server" kubectl get --raw /readyz
on c "$KUBERNETES" kube-controller-manager --kubeconfig=admin.conf --service-account-private-key-file=accounts.key \
    --use-service-account-credentials=false --leader-elect=false --node-monitor-grace-period=10s >log/manager 2>&1 &
on c "$KUBERNETES" kube-scheduler --kubeconfig=admin.conf --leader-elect=false >log/scheduler 2>&1 &

# An image with one program that sleeps: that of each pod's own container.
cat >pause.c <<'END'
#include <unistd.h>
int main(void) { for (;;) pause(); }
END
mkdir pause
cc -static -O -o pause/pause pause.c
tar -C pause -cf layer.tar pause
layer=$(sha256sum <layer.tar)
cat >config.json <<END
{"architecture":"$(dpkg --print-architecture)","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:${layer%% *}"]}}
END
echo '[{"Config":"config.json","RepoTags":["localhost/pause:1"],"Layers":["layer.tar"]}]' >manifest.json
tar -cf pause.tar manifest.json config.json layer.tar

node() {
    local name=$1 first=$2 d=$D/$1 cgroup
    mkdir -p "$d/cni" "$d/run" "$d/logs"
    for cgroup in /sys/fs/cgroup/*/; do
        mkdir -p "$cgroup$CGROUP/$name" 2>/dev/null || continue
        for file in cpuset.cpus cpuset.mems; do
            [ ! -e "$cgroup$file" ] || { cat "$cgroup$file" >"$cgroup$CGROUP/$file" && cat "$cgroup$file" >"$cgroup$CGROUP/$name/$file"; }
        done
    done
    cat >"$d/cni/10.conf" <<END
{"cniVersion":"0.4.0","name":"pods","type":"bridge","bridge":"br0",
 "ipam":{"type":"host-local","dataDir":"$d/addresses","ranges":[[{"subnet":"10.77.0.0/24","rangeStart":"10.77.0.$first","rangeEnd":"10.77.0.$((first + 40))"}]]}}
END
    cat >"$d/containerd.toml" <<END
version = 2
root = "$d/root"
state = "$d/run/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "$d/run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
disable_apparmor = true
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$d/cni"
END
    cat >"$d/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: "0.0.0.0"
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: "/$CGROUP/$name"
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: "unix://$d/run/containerd.sock"
resolvConf: ""
podLogsDir: "$d/logs"
registerNode: true
nodeStatusUpdateFrequency: 2s
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
volumePluginDir: "$d/plugins"
END
    on "$name" containerd --config "$d/containerd.toml" >"log/containerd-$name" 2>&1 &
    await "containerd of $name" ctr --address "$d/run/containerd.sock" version
    ctr --address "$d/run/containerd.sock" -n k8s.io images import pause.tar >>log/images 2>&1
    ctr --address "$d/run/containerd.sock" -n k8s.io images import "$IMAGE" >>log/images 2>&1
    on "$name" "$KUBERNETES" kubelet --config="$d/kubelet.yaml" --kubeconfig="$D/$name.conf" --root-dir="$d/kubelet" \
        --cert-dir="$d/certificates" --node-ip="$3" --hostname-override="$name" >"log/kubelet-$name" 2>&1 &
}
node n1 100 10.77.0.11
node n2 150 10.77.0.12
kubectl create namespace load >>log/kubectl
kubectl create --namespace load --filename "$ROLE" >>log/kubectl
kubectl create --namespace load rolebinding load --role=plimsoll --user=load >>log/kubectl
are_ready() {
    [ "$(kubectl get nodes --no-headers | grep -cw Ready)" = 2 ]
}
await "two nodes" are_ready
await "the account of pods" kubectl get --namespace load serviceaccount default
read -r pid rest </proc/self/stat
echo "$pid" >holder.part
mv holder.part holder
exec sleep infinity
